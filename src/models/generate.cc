#include "models/generate.h"

#include <algorithm>

#include "core/call_scope.h"
#include "core/concat.h"
#include "headlight/error.h"
#include "kernels/kernels.h"

namespace headlight::models {
namespace {

ConstTensorView row_of(const Tensor& logits, Index row) {
  return {logits.as<float>() + row * logits.dim(1), {logits.dim(1)}};
}

// Continues all prompts together. A slot is an entry of the decoder's memory; when a text ends, the last slot
// moves into its place.
class Continuing {
 public:
  Continuing(Context& ctx, const Transformer& model, Decoding decoding, const Tokens& prompts,
             const SamplingOptions& options)
      : ctx_(ctx), model_(model), decoding_(std::move(decoding)), options_(options) {
    check(options);
    for (Index i = 0; i < decoding_.items; ++i) {
      const auto s = static_cast<std::size_t>(i);
      items_.push_back(i);
      seen_.emplace_back(prompts.ids.begin() + prompts.starts[s],
                         prompts.ids.begin() + prompts.starts[s + 1]);
    }
    written_.resize(items_.size());
  }

  std::vector<Continuation> run(const Tokens& prompts) {
    const TensorRecycler recycler;  // every step creates tensors of the same sizes
    Tokens next = prompts;
    end_those_without_room();
    for (Index place = 0; place < options_.most && !items_.empty(); ++place) {
      const Tensor logits = model_.next(
          ctx_, decoding_, next, {.observer = options_.observer, .intervention = options_.intervention});
      for (std::size_t slot = 0; slot < items_.size(); ++slot)
        if (!add_token(items_[slot], row_of(logits, static_cast<Index>(slot)), place)) ended_.push_back(slot);
      free_slots();
      next = {};
      for (const Index item : items_)
        next.append(std::span(&seen_[static_cast<std::size_t>(item)].back(), 1));
    }
    return std::move(written_);
  }

 private:
  // The last chosen token is never read, so a text may have one token more than the context.
  [[nodiscard]] bool has_room(Index item) const {
    const Index limit = context_of(model_.config());
    return limit == 0 || static_cast<Index>(seen_[static_cast<std::size_t>(item)].size()) <= limit;
  }

  void end_those_without_room() {
    for (std::size_t slot = 0; slot < items_.size(); ++slot) {
      if (has_room(items_[slot])) continue;
      throw Error(ErrorKind::input, "model.context",
                  concat("prompt ", items_[slot] + 1, " has ", seen_[slot].size(),
                         " tokens; the model reads at most ", context_of(model_.config())));
    }
  }

  double log_probability(const ConstTensorView& logits, std::int32_t token) {
    chances_.resize(static_cast<std::size_t>(logits.dim(0)));
    kernels::row_kernels_for(ctx_.target())
        .of<float>()
        .log_softmax(logits.as<float>(), chances_.data(), logits.dim(0));
    return static_cast<double>(chances_[static_cast<std::size_t>(token)]);
  }

  // False when the text ends here.
  bool add_token(Index item, const ConstTensorView& logits, Index place) {
    const auto i = static_cast<std::size_t>(item);
    Continuation& text = written_[i];
    const std::int32_t token = choose_token(logits, options_, item, place, seen_[i]);
    if (options_.stop_at_eos && model_.config().is_end(token)) {
      text.ending = Ending::end;
      return false;
    }
    const NewToken added{item, token, log_probability(logits, token)};
    seen_[i].push_back(token);
    text.tokens.push_back(token);
    text.log_probabilities.push_back(added.log_probability);
    if (options_.on_token && !options_.on_token(added)) {
      text.ending = Ending::stopped;
      return false;
    }
    if (!has_room(item)) text.ending = Ending::context;
    return has_room(item);
  }

  void free_slots() {
    for (; !ended_.empty(); ended_.pop_back()) {
      const std::size_t slot = ended_.back(), last = items_.size() - 1;
      if (slot != last) {
        decoding_.copy(static_cast<Index>(last), static_cast<Index>(slot));
        items_[slot] = items_[last];
      }
      items_.pop_back();
      decoding_.keep(static_cast<Index>(last));
    }
  }

  Context& ctx_;
  const Transformer& model_;
  Decoding decoding_;
  const SamplingOptions& options_;
  std::vector<Index> items_;                     // by slot: the index of its text
  std::vector<std::size_t> ended_;               // slots, ascending
  std::vector<std::vector<std::int32_t>> seen_;  // by item: all tokens so far
  std::vector<float> chances_;                   // of one row, as logarithms
  std::vector<Continuation> written_;            // by item
};

std::vector<std::vector<std::int32_t>> tokens_of(std::vector<Continuation> continuations) {
  std::vector<std::vector<std::int32_t>> out;
  out.reserve(continuations.size());
  for (Continuation& text : continuations) out.push_back(std::move(text.tokens));
  return out;
}

}  // namespace

Index context_of(const TransformerConfig& config) noexcept {
  // Dynamic scaling is meant for texts that are longer than those in training.
  const auto stretches = [](const nn::BlockConfig& block) {
    return block.attention.rope && block.attention.rope->scaling.kind == nn::RopeScaling::Kind::dynamic;
  };
  if (std::any_of(config.main().begin(), config.main().end(), stretches)) return 0;
  return std::max<Index>(config.max_positions, 0);
}

std::vector<Continuation> continue_prompts(Context& ctx, const Transformer& model, const Tokens& prompts,
                                           const SamplingOptions& options) {
  const CallScope scope(ctx);
  const TensorRecycler recycler;
  return Continuing(ctx, model, model.start(ctx, prompts.sequences()), prompts, options).run(prompts);
}

std::vector<std::vector<std::int32_t>> generate(Context& ctx, const Transformer& model, const Tokens& prompts,
                                                const SamplingOptions& options) {
  return tokens_of(continue_prompts(ctx, model, prompts, options));
}

std::vector<std::vector<std::int32_t>> transform(Context& ctx, const Transformer& model, const Tokens& source,
                                                 const SamplingOptions& options) {
  const CallScope scope(ctx);
  const std::int32_t start = model.config().decoder_start;
  if (start < 0)
    throw Error(ErrorKind::usage, "model.start",
                "this model has no start token for its decoder (decoder_start_token_id)");
  Tokens prompts;
  for (Index s = 0; s < source.sequences(); ++s) prompts.append(std::span(&start, 1));
  const TensorRecycler recycler;
  return tokens_of(
      Continuing(
          ctx, model,
          model.start(ctx, source, {.observer = options.observer, .intervention = options.intervention}),
          prompts, options)
          .run(prompts));
}

}  // namespace headlight::models
