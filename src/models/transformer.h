// Transformers: decoders, encoders and encoder-decoders from one config.
//
//   models::Transformer model(models::gpt_config({.vocabulary = 8192, .width = 384, .layers = 6, ...}));
//   model.initialize(seed);
//   const models::Loss loss = model.learn(ctx, batch, {.scale = 1.0 / targets});
//   const Tensor logits = model.logits(ctx, tokens);
#pragma once

#include <string>
#include <vector>

#include "headlight/trace.h"
#include "models/head.h"
#include "models/stack.h"
#include "models/trainable.h"
#include "models/transformer_config.h"

namespace headlight::models {

// Options of one run.
struct RunOptions {
  Observer* observer = nullptr;
  std::span<const std::int32_t> types = {};  // segments of the input, for models that have them
  Intervention* intervention = nullptr;      // changes heads; see headlight/trace.h
};

// State of sequences that are generated token by token.
struct Decoding {
  StackCaches caches;
  Tensor memory;  // the encoder's output for the source
  std::vector<Index> memory_starts = {0};
  Index items = 0;
  // The tokens of each item; kept only for models that rotate all keys differently once a text is long (longrope).
  std::vector<std::vector<std::int32_t>> written = {};
  [[nodiscard]] Index length(Index item) const { return caches.self.front().length(item); }

  // Repeats each item: the copies of item i are i, i + items, i + 2·items … Their keys are shared.
  void spread(Index copies);
  // Replaces item `to` by a copy of item `from`.
  void copy(Index from, Index to);
  // Removes all items from number `count` on.
  void keep(Index count);
};

class Transformer : public Trainable {
 public:
  explicit Transformer(const TransformerConfig& config);  // parameters are zero, norms one

  [[nodiscard]] const TransformerConfig& config() const noexcept { return config_; }

  [[nodiscard]] Parameters parameters() override;
  Loss learn(Context& ctx, const Batch& batch, const LearnOptions& options) override;
  [[nodiscard]] std::string why_not_by_tokens() const override;
  [[nodiscard]] Loss evaluate(Context& ctx, const Batch& batch) const override;
  [[nodiscard]] double flops(const Batch& batch) const override;
  [[nodiscard]] std::string config_json() const override;
  [[nodiscard]] std::string file_name(const Parameter& parameter) const override;
  void initialize(std::uint64_t seed) override;
  // The same with an observer or an intervention; token types are those of the batch.
  [[nodiscard]] Loss evaluate(Context& ctx, const Batch& batch, const RunOptions& options) const;

  // [token, vocabulary], for every token of `input`; encoder-decoders read `source` first.
  [[nodiscard]] Tensor logits(Context& ctx, const Tokens& input, const RunOptions& options = {}) const;
  [[nodiscard]] Tensor logits(Context& ctx, const Tokens& source, const Tokens& input,
                              const RunOptions& options = {}) const;
  // The input of logits_of(): the hidden states after the last block and its norm, [token, width]. The logits of a few rows
  // cost no more than those rows. They have the same bits, unless a matrix is stored and there are fewer than nine rows.
  [[nodiscard]] Tensor hidden_states(Context& ctx, const Tokens& input, const RunOptions& options = {}) const;
  [[nodiscard]] Tensor hidden_states(Context& ctx, const Tokens& source, const Tokens& input,
                                     const RunOptions& options = {}) const;
  [[nodiscard]] Tensor logits_of(Context& ctx, ConstTensorView hidden) const;  // [row, vocabulary]
  // The encoder's output for its tokens, [token, width]; for encoders and encoder-decoders.
  [[nodiscard]] Tensor encode(Context& ctx, const Tokens& tokens, const RunOptions& options = {}) const;

  // The layers themselves: the encoder's, or the decoder's with its cross-attention.
  [[nodiscard]] const Stack& stack(Part part) const { return part == Part::encoder ? encoder_ : decoder_; }
  [[nodiscard]] Stack& stack(Part part) { return part == Part::encoder ? encoder_ : decoder_; }
  [[nodiscard]] const nn::Embedding& embedding() const { return embedding_; }
  [[nodiscard]] const Head& head() const { return head_; }

  // Generation token by token. Decoders start empty; encoder-decoders with source sentences.
  [[nodiscard]] Decoding start(Context& ctx, Index items) const;
  [[nodiscard]] Decoding start(Context& ctx, const Tokens& source, const RunOptions& options = {}) const;
  // The same, reusing the memory of an earlier state that had at least as many sentences.
  void start(Context& ctx, Decoding& decoding, const Tokens& source, const RunOptions& options = {}) const;
  // Adds tokens to every item and returns the logits of the next token: [item, vocabulary]. The first
  // call accepts any lengths, later calls the same number of tokens for each item.
  [[nodiscard]] Tensor next(Context& ctx, Decoding& decoding, const Tokens& tokens,
                            const RunOptions& options = {}) const;

 private:
  void check_head() const;
  void check_batch(const Batch& batch) const;
  [[nodiscard]] const Stack& main() const { return config_.kind == ModelKind::encoder ? encoder_ : decoder_; }
  [[nodiscard]] Stack& main() { return config_.kind == ModelKind::encoder ? encoder_ : decoder_; }

  TransformerConfig config_;
  nn::Embedding embedding_;
  Stack encoder_, decoder_;
  Head head_;
};

}  // namespace headlight::models
