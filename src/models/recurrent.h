// Recurrent models to compare transformers with: a language model, and an encoder-decoder with or without
// additive attention.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/recurrent.h"
#include "io/json.h"
#include "models/head.h"
#include "models/trainable.h"

namespace headlight::models {

inline constexpr std::string_view kRecurrentType = "headlight_recurrent";  // in config.json: model_type

struct RecurrentModelConfig {
  nn::CellKind cell = nn::CellKind::gru;
  bool encoder_decoder = false;
  bool attention = false;  // for encoder-decoders: the first decoder layer attends to the encoder
  Index vocabulary = 0, width = 0;
  Index layers = 1;  // of the encoder as well
  bool tied = true;
  double dropout = 0;  // of embeddings and of the output of each layer
  std::int32_t bos = -1, eos = -1, pad = -1, decoder_start = -1;
  DType dtype = DType::f32;

  bool operator==(const RecurrentModelConfig&) const = default;
};
[[nodiscard]] RecurrentModelConfig read_recurrent_config(const io::Json& json);

// The state of sequences that are read or written step by step.
struct RecurrentMemory {
  std::vector<Tensor> states = {};  // of each layer, [sequence, state_width]; empty: zero
  Tensor source = {};               // input of attention, [token, width]
  std::vector<Index> source_starts = {0};
};

class RecurrentModel : public Trainable {
 public:
  explicit RecurrentModel(const RecurrentModelConfig& config);

  [[nodiscard]] const RecurrentModelConfig& config() const noexcept { return config_; }
  [[nodiscard]] Parameters parameters() override;
  Loss learn(Context& ctx, const Batch& batch, const LearnOptions& options) override;
  [[nodiscard]] Loss evaluate(Context& ctx, const Batch& batch) const override;
  [[nodiscard]] double flops(const Batch& batch) const override;
  [[nodiscard]] std::string config_json() const override;
  void initialize(std::uint64_t seed) override;

  // [token, vocabulary]; encoder-decoders read `source` first, other models get none.
  [[nodiscard]] Tensor logits(Context& ctx, const Tokens& source, const Tokens& input) const;
  // The encoder's output for sources; empty for a model without encoder.
  [[nodiscard]] RecurrentMemory read(Context& ctx, const Tokens& source) const;
  // Continues with the same number of tokens for each sequence, and returns their logits.
  [[nodiscard]] Tensor next(Context& ctx, RecurrentMemory& memory, const Tokens& tokens) const;

 private:
  struct Pass;  // src/models/recurrent.cc: one run of a stack of layers
  struct Saved;
  void check_batch(const Batch& batch) const;
  [[nodiscard]] Tensor advance(Context& ctx, RecurrentMemory& memory, const Tokens& tokens) const;
  [[nodiscard]] Tensor run(Context& ctx, const std::vector<nn::RecurrentLayer>& layers, const Pass& pass,
                           Saved& saved, bool keep) const;
  [[nodiscard]] std::vector<Tensor> back(Context& ctx, std::vector<nn::RecurrentLayer>& layers,
                                         const Pass& pass, const Saved& saved, Tensor dy,
                                         const std::vector<Tensor>& dlast, TensorView dmemory);

  RecurrentModelConfig config_;
  nn::Embedding embedding_;
  std::vector<nn::RecurrentLayer> encoder_, decoder_;
  Head head_;
};

}  // namespace headlight::models
