// A stack of blocks between embeddings and a final norm: the encoder or the decoder of a transformer.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "headlight/nn.h"
#include "models/guide.h"
#include "models/sound_reader.h"
#include "models/trainable.h"
#include "models/transformer_config.h"

namespace headlight::models {

// The output of the encoder, as input of the decoder's stack.
struct Memory {
  ConstTensorView x = {};
  std::span<const Index> starts = {};
};

// Caches of earlier tokens, one per layer; empty vectors: none.
struct StackCaches {
  std::vector<KvCache> self, cross;
};

struct StackCall {
  const Tokens& tokens;
  std::span<const std::int32_t> types = {};  // segments; empty: all 0
  Memory memory = {};
  StackCaches* caches = nullptr;
  std::uint64_t dropout_seed = 0;  // 0: no dropout
  Observer* observer = nullptr;
  Intervention* intervention = nullptr;
  Guiding* guiding = nullptr;                         // of backward; nullptr: none
  std::function<void(const Parameters&)> ready = {};  // see LearnOptions
  bool recompute = false;  // `Saved` has only the inputs of blocks; backward recomputes the rest
};

class Stack {
 public:
  struct Saved {
    Tensor narrow;    // input of the widening layer
    Tensor embedded;  // before the embedding's norm
    nn::Norm::Saved embedding_norm, final_norm;
    std::vector<Tensor> inputs;  // inputs of each block, and the output of the last one
    std::vector<nn::Block::Saved> blocks;
    std::vector<std::int32_t> position_ids;
    SoundReader::SavedBoth sound;
  };

  Stack() = default;
  Stack(const TransformerConfig& config, Part part);

  [[nodiscard]] Tensor forward(Context& ctx, const nn::Embedding& embedding, const StackCall& call,
                               Saved* saved = nullptr) const;
  // Overwrites dx. Adds to dmemory and to the gradients, including those of the embedding.
  void backward(Context& ctx, nn::Embedding& embedding, const StackCall& call, const Saved& saved, Tensor dx,
                TensorView dmemory = {});
  void collect(Parameters& list);
  [[nodiscard]] StackCaches make_caches(const Context& ctx, Index items) const;

  std::vector<nn::Block> blocks;  // one for all layers if they share it
  [[nodiscard]] const nn::Block& block(std::size_t layer) const {
    return blocks[config_.one_layer ? 0 : layer];
  }
  [[nodiscard]] const TransformerConfig& config() const noexcept { return config_; }
  [[nodiscard]] std::size_t layers() const { return config_.layers(part_).size(); }
  SoundReader sound;  // replaces the token embedding, if present
  nn::Embedding positions, types;
  nn::Linear widening;      // of embeddings narrower than the model
  nn::Embedding distances;  // DeBERTa
  nn::Norm distance_norm;
  nn::Norm embedding_norm, final_norm;
  nn::RelativeBias relative;

 private:
  struct Shared;  // src/models/stack.cc: data shared by all blocks of a run
  [[nodiscard]] nn::BlockCall block_call(const Shared& shared, const StackCall& call,
                                         std::size_t layer) const;
  [[nodiscard]] Tensor embed(Context& ctx, const nn::Embedding& embedding, const StackCall& call,
                             const Shared& shared, Saved& s) const;
  [[nodiscard]] Tensor embed_tokens(Context& ctx, const nn::Embedding& embedding, const StackCall& call,
                                    Saved& s) const;
  [[nodiscard]] Tensor relative_bias(const Shared& shared, const StackCall& call) const;
  [[nodiscard]] Tensor key_bias(const Shared& shared) const;
  [[nodiscard]] Shared share(Context& ctx, const StackCall& call) const;
  void embed_backward(Context& ctx, nn::Embedding& embedding, const StackCall& call, const Saved& saved,
                      Tensor dx);
  [[nodiscard]] bool widens(EmbeddingConfig::Widened what) const {
    return !widening.empty() && config_.embedding.widened == what;
  }

  TransformerConfig config_;
  Part part_ = Part::decoder;
  nn::Embedding sinusoids_;  // fixed, not a parameter
};

}  // namespace headlight::models
