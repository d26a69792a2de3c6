// The interface between trainer and model: transformer or recurrent, decoder, encoder or both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/parameters.h"
#include "headlight/tensor.h"

namespace headlight::models {

// Sequences of tokens laid end to end, without padding: sequence s is ids[starts[s]] … ids[starts[s+1]-1].
// Everything that works on single tokens sees one matrix of ids.size() rows.
struct Tokens {
  std::vector<std::int32_t> ids;
  std::vector<Index> starts = {0};
  // The input of speech models in place of ids, [sequence, band, frame]; the ids are then 0, one for each position.
  std::shared_ptr<const Tensor> features = nullptr;

  [[nodiscard]] Index sequences() const { return static_cast<Index>(starts.size()) - 1; }
  [[nodiscard]] Index size() const { return static_cast<Index>(ids.size()); }
  void append(std::span<const std::int32_t> sequence) {
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    starts.push_back(size());
  }
};

// A target for one encoder head: a token of the source and the tokens of the same sequence that it should attend to.
// Indices into source.ids.
struct Link {
  Index query = 0, key_begin = 0, key_end = 0;
};

// The head that is trained on the links of a batch, in addition to the loss of the model.
struct Guide {
  Index layer = 0, head = 0;
  double weight = 0;  // of a link, relative to a target; 0: links are ignored
};

inline constexpr std::int32_t kIgnored = -100;  // a target that does not count

struct Batch {
  Tokens source;  // input of an encoder-decoder's encoder; no sequences for other models
  Tokens input;   // input of the decoder, or of an encoder-only model; as many sequences as `source`
  std::vector<std::int32_t> targets;        // one per input token, or kIgnored
  std::vector<std::int32_t> type_ids = {};  // one per input token for models with segments; empty: all 0
  std::vector<Link> links = {};             // for a guided head, in any order
};

// Sums over the targets that count, so that parts of a batch can be added.
struct Loss {
  double sum = 0;    // cross-entropy in nats, with label smoothing if set
  double plain = 0;  // without
  Index targets = 0;
  Index correct = 0;  // where the largest logit is the target
  double linked =
      0;  // -log of the guided head's weight on the keys of its links, without the factor of the guide
  Index links = 0;
  [[nodiscard]] double mean() const { return targets > 0 ? plain / static_cast<double>(targets) : 0; }
};

struct LearnOptions {
  double scale = 1;  // gradients are those of sum·scale: pass 1 / (all targets of the step)
  double label_smoothing = 0;
  std::uint64_t dropout_seed = 0;  // different for every part of every step
  Guide guide = {};                // gradients are also those of linked·guide.weight·scale
  // Keep only the inputs of layers and recompute the rest in the backward pass: less memory, more time, same bits.
  bool checkpoint_layers = false;
  // Called while gradients are computed: those of these parameters, and of all behind them in parameters(), are complete.
  std::function<void(const Parameters&)> ready = {};
};

// The files of a model, or of a part of it.
struct SavedFiles {
  const char *config = "config.json", *weights = "model.safetensors";
};

class Trainable {
 public:
  virtual ~Trainable() = default;

  [[nodiscard]] virtual Parameters parameters() = 0;
  // Forward and backward; adds to the gradients of the parameters. Gradients are the same bits for any
  // number of threads.
  virtual Loss learn(Context& ctx, const Batch& batch, const LearnOptions& options) = 0;
  // Why processes cannot share the tokens of its batches (core/team.h); empty: they can.
  [[nodiscard]] virtual std::string why_not_by_tokens() const { return "it is not a transformer"; }
  // Forward alone, without dropout.
  [[nodiscard]] virtual Loss evaluate(Context& ctx, const Batch& batch) const = 0;
  // Floating point operations of learn() on this batch: 6 per multiplied parameter and token, attention
  // by the rule of the benchmarks (causal counts half). There is no padding.
  [[nodiscard]] virtual double flops(const Batch& batch) const = 0;
  // The model's config.json, from which a loader can create it again.
  [[nodiscard]] virtual std::string config_json() const = 0;
  [[nodiscard]] virtual SavedFiles saved_files() const { return {}; }
  // The parameter's name in the model's files. Throws Error{usage} if they cannot store it.
  [[nodiscard]] virtual std::string file_name(const Parameter& parameter) const { return parameter.name; }
  // Initializes every parameter with random values that depend only on the seed.
  virtual void initialize(std::uint64_t seed) = 0;
};

}  // namespace headlight::models
