// The interface between beam search and model, transformer or recurrent: sequences generated token by token, each in
// its own slot.
#pragma once

#include "models/recurrent.h"
#include "models/transformer.h"

namespace headlight::models {

class Writer {
 public:
  struct Facts {
    Index vocabulary = 0;
    Index context = 0;  // longest sequence in tokens; 0: no known limit
    std::int32_t start = -1;
    std::vector<std::int32_t> ends = {};
    WritingRules rules = {};
  };

  virtual ~Writer() = default;
  [[nodiscard]] virtual Facts facts() const = 0;
  [[nodiscard]] virtual Index places() const = 0;

  // Starts with new sources: slot i writes the translation of source i.
  virtual void start(Context& ctx, const Tokens& source) = 0;
  // Appends one token to each slot. Returns the logits of the next token, [slot, vocabulary].
  [[nodiscard]] virtual Tensor next(Context& ctx, const Tokens& tokens) = 0;

  // Repeats each slot: the copies of slot i are i, i + slots, i + 2·slots …
  virtual void spread(Index copies) = 0;
  // Replaces slot `to` by a copy of slot `from`.
  virtual void copy(Index from, Index to) = 0;
  // The same if both belong to one source.
  virtual void branch(Index from, Index to) { copy(from, to); }
  // Removes the slots from number `count` on.
  virtual void keep(Index count) = 0;
};

// Both keep a reference to the model. The memory of one start() is reused by the next.
class TransformerWriter : public Writer {
 public:
  explicit TransformerWriter(const Transformer& model, const RunOptions& options = {})
      : model_(model), options_(options) {}

  [[nodiscard]] Facts facts() const override;
  [[nodiscard]] Index places() const override { return decoding_.items; }
  void start(Context& ctx, const Tokens& source) override { model_.start(ctx, decoding_, source, options_); }
  [[nodiscard]] Tensor next(Context& ctx, const Tokens& tokens) override {
    return model_.next(ctx, decoding_, tokens, options_);
  }
  void spread(Index copies) override { decoding_.spread(copies); }
  void copy(Index from, Index to) override { decoding_.copy(from, to); }
  void branch(Index from, Index to) override;
  void keep(Index count) override { decoding_.keep(count); }

 private:
  const Transformer& model_;
  RunOptions options_;
  Decoding decoding_;
};

class RecurrentWriter : public Writer {
 public:
  // Throws Error{usage} unless the model has an encoder.
  explicit RecurrentWriter(const RecurrentModel& model);

  [[nodiscard]] Facts facts() const override;
  [[nodiscard]] Index places() const override { return static_cast<Index>(sources_.size()); }
  void start(Context& ctx, const Tokens& source) override;
  [[nodiscard]] Tensor next(Context& ctx, const Tokens& tokens) override;
  void spread(Index copies) override;
  void copy(Index from, Index to) override;
  void keep(Index count) override;

 private:
  void lay_out();

  const RecurrentModel& model_;
  RecurrentMemory read_;        // of the sources, in their order
  std::vector<Index> sources_;  // index of the source of each slot
  RecurrentMemory memory_;      // of the slots
  bool moved_ = false;          // the sources of the slots differ from memory_
};

}  // namespace headlight::models
