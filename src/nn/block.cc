#include "nn/block.h"

namespace headlight::nn {
namespace {

// branch = stream + dropped branch
void join(Context& ctx, const Dropout& dropout, const ConstTensorView& stream, Tensor& branch) {
  if (dropout.rate > 0) drop(ctx, dropout, branch, branch, stream);
  else add_to(ctx, stream, branch);
}

// The same, and its norm: one pass over the memory.
[[nodiscard]] Tensor join(Context& ctx, const Dropout& dropout, const ConstTensorView& stream, Tensor& branch,
                          const Norm& norm, Norm::Saved* saved) {
  if (dropout.rate > 0) {
    drop(ctx, dropout, branch, branch, stream);
    return norm.forward(ctx, branch, saved);
  }
  return norm.forward_sum(ctx, stream, branch, branch, saved);
}

// Observers see what a layer's norm read, too.
AttentionCall with_stream(const AttentionCall& call, const ConstTensorView& stream) {
  AttentionCall seen = call;
  seen.stream = stream;
  return seen;
}

}  // namespace

Block::Block(const std::string& name, const BlockConfig& config, DType dtype) : config_(config) {
  attention = MultiHeadAttention(name + ".attention", config.attention, dtype);
  attention_norm = Norm(name + ".attention_norm", config.norm, dtype);
  if (config.cross) {
    cross = MultiHeadAttention(name + ".cross", *config.cross, dtype);
    cross_norm = Norm(name + ".cross_norm", config.norm, dtype);
  }
  feed_forward = FeedForward(name + ".feed_forward", config.feed_forward, dtype);
  if (config.shape != BlockShape::parallel_one_norm)
    feed_forward_norm = Norm(name + ".feed_forward_norm", config.norm, dtype);
  if (config.norm_place == NormPlace::both) {
    attention_post_norm = Norm(name + ".attention_post_norm", config.norm, dtype);
    feed_forward_post_norm = Norm(name + ".feed_forward_post_norm", config.norm, dtype);
  }
  const bool parallel = config.shape != BlockShape::serial;
  if ((parallel && (config.cross || config.norm_place != NormPlace::before)) ||
      (config.cross && config.norm_place == NormPlace::both)) {
    throw Error(ErrorKind::usage, "nn.config",
                concat(name, ": parallel blocks have one norm place (before) and no cross-attention; ",
                       "cross-attention has norms before or after, not both"));
  }
}

Tensor Block::forward(Context& ctx, ConstTensorView x, const BlockCall& call, Saved* saved) const {
  const CallScope scope(ctx);
  Saved own;
  Saved& s = saved != nullptr ? *saved : own;
  if (config_.shape != BlockShape::serial) return forward_parallel(ctx, x, call, s);
  return config_.norm_place == NormPlace::after ? forward_after(ctx, x, call, s)
                                                : forward_before(ctx, x, call, s);
}

Tensor Block::forward_before(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const {
  const bool both = config_.norm_place == NormPlace::both;
  ConstTensorView stream = x;
  s.attention_step.normed = attention_norm.forward(ctx, x, &s.attention_step.norm);
  Tensor branch = attention.forward(ctx, s.attention_step.normed, with_stream(call.self, x), &s.attention);
  const auto post = [&](const Norm& norm, StepSaved& step) {
    step.branch = std::move(branch);
    branch = norm.forward(ctx, step.branch, &step.post_norm);
  };
  if (both) post(attention_post_norm, s.attention_step);
  StepSaved& second = config_.cross ? s.cross_step : s.feed_forward_step;
  second.normed = join(ctx, step_dropout(config_, call, StepPlace::attention), stream, branch,
                       config_.cross ? cross_norm : feed_forward_norm, &second.norm);
  s.attention_step.sum = std::move(branch);
  stream = s.attention_step.sum;
  if (config_.cross) {
    branch = cross.forward(ctx, s.cross_step.normed, with_stream(call.cross, stream), &s.cross);
    s.feed_forward_step.normed = join(ctx, step_dropout(config_, call, StepPlace::cross), stream, branch,
                                      feed_forward_norm, &s.feed_forward_step.norm);
    s.cross_step.sum = std::move(branch);
    stream = s.cross_step.sum;
  }
  branch = feed_forward.forward(ctx, s.feed_forward_step.normed, &s.feed_forward);
  if (both) post(feed_forward_post_norm, s.feed_forward_step);
  join(ctx, step_dropout(config_, call, StepPlace::feed_forward), stream, branch);
  return branch;
}

Tensor Block::forward_after(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const {
  const auto finish = [&](StepPlace place, const ConstTensorView& stream, Tensor branch, const Norm& norm,
                          StepSaved& step) {
    Tensor y = join(ctx, step_dropout(config_, call, place), stream, branch, norm, &step.norm);
    step.sum = std::move(branch);
    return y;
  };
  s.after_attention = finish(StepPlace::attention, x, attention.forward(ctx, x, call.self, &s.attention),
                             attention_norm, s.attention_step);
  ConstTensorView stream = s.after_attention;
  if (config_.cross) {
    s.after_cross = finish(StepPlace::cross, stream, cross.forward(ctx, stream, call.cross, &s.cross),
                           cross_norm, s.cross_step);
    stream = s.after_cross;
  }
  return finish(StepPlace::feed_forward, stream, feed_forward.forward(ctx, stream, &s.feed_forward),
                feed_forward_norm, s.feed_forward_step);
}

Tensor Block::forward_parallel(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const {
  s.attention_step.normed = attention_norm.forward(ctx, x, &s.attention_step.norm);
  if (!feed_forward_norm.empty())
    s.feed_forward_step.normed = feed_forward_norm.forward(ctx, x, &s.feed_forward_step.norm);
  const Tensor& input = feed_forward_norm.empty() ? s.attention_step.normed : s.feed_forward_step.normed;
  Tensor branch = attention.forward(ctx, s.attention_step.normed, with_stream(call.self, x), &s.attention);
  join(ctx, step_dropout(config_, call, StepPlace::attention), x, branch);
  Tensor y = feed_forward.forward(ctx, input, &s.feed_forward);
  join(ctx, step_dropout(config_, call, StepPlace::feed_forward), branch, y);
  return y;
}

void Block::collect(Parameters& list) {
  attention_norm.collect(list);
  attention.collect(list);
  attention_post_norm.collect(list);
  if (config_.cross) {
    cross_norm.collect(list);
    cross.collect(list);
  }
  feed_forward_norm.collect(list);
  feed_forward.collect(list);
  feed_forward_post_norm.collect(list);
}

}  // namespace headlight::nn
