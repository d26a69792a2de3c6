#include "nn/block.h"

namespace headlight::nn {
namespace {

// branch = stream + dropped branch; without a stream, the dropped branch alone
void join(Context& ctx, const Dropout& dropout, const ConstTensorView& stream, Tensor& branch) {
  if (dropout.rate > 0) drop(ctx, dropout, branch, branch, stream);
  else if (!stream.empty()) add_to(ctx, stream, branch);
}

// The same, and its norm: one pass over the memory.
[[nodiscard]] Tensor join(Context& ctx, const Dropout& dropout, const ConstTensorView& stream, Tensor& branch,
                          const Norm& norm, Norm::Saved* saved) {
  if (dropout.rate > 0 || stream.empty()) {
    join(ctx, dropout, stream, branch);
    return norm.forward(ctx, branch, saved);
  }
  return norm.forward_sum(ctx, stream, branch, branch, saved);
}

// Observers also get the input of the norm.
AttentionCall with_stream(const AttentionCall& call, const ConstTensorView& stream) {
  AttentionCall seen = call;
  seen.stream = stream;
  return seen;
}

}  // namespace

namespace {

void check_config(const std::string& name, const BlockConfig& c) {
  const bool parallel = c.shape != BlockShape::serial;
  const bool branch_norms = c.norm_place == NormPlace::both || c.norm_place == NormPlace::output;
  if ((parallel && (c.cross || c.norm_place != NormPlace::before)) || (c.cross && branch_norms)) {
    throw Error(ErrorKind::usage, "nn.config",
                concat(name, ": parallel blocks have one norm place (before) and no cross-attention; ",
                       "cross-attention has norms before or after, not both"));
  }
  if (!c.attention_normed && (parallel || c.cross || c.norm_place != NormPlace::before)) {
    throw Error(
        ErrorKind::usage, "nn.config",
        concat(name,
               ": attention without a norm before it needs a serial block with norms before the sublayers"));
  }
  if (!c.residual && (parallel || c.cross || c.norm_place != NormPlace::before)) {
    throw Error(
        ErrorKind::usage, "nn.config",
        concat(name, ": residual = false needs a serial block with norms before and no cross-attention"));
  }
}

}  // namespace

Block::Block(const std::string& name, const BlockConfig& config, DType dtype) : config_(config) {
  check_config(name, config);
  const bool reads_norms = config.norm_place != NormPlace::output;
  attention = MultiHeadAttention(name + ".attention", config.attention, dtype);
  if (reads_norms && config.attention_normed)
    attention_norm = Norm(name + ".attention_norm", config.norm, dtype);
  if (config.cross) {
    cross = MultiHeadAttention(name + ".cross", *config.cross, dtype);
    cross_norm = Norm(name + ".cross_norm", config.norm, dtype);
  }
  if (config.experts) experts = Experts(name, *config.experts, config.feed_forward, dtype);
  else feed_forward = FeedForward(name + ".feed_forward", config.feed_forward, dtype);
  if (reads_norms && config.shape != BlockShape::parallel_one_norm)
    feed_forward_norm = Norm(name + ".feed_forward_norm", config.norm, dtype);
  if (config.norm_place == NormPlace::both || !reads_norms) {
    attention_post_norm = Norm(name + ".attention_post_norm", config.norm, dtype);
    feed_forward_post_norm = Norm(name + ".feed_forward_post_norm", config.norm, dtype);
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

Tensor Block::feed(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const {
  if (experts.empty()) return feed_forward.forward(ctx, x, &s.feed_forward);
  Tensor y = experts.forward(ctx, x, s.experts);
  if (call.self.observer != nullptr) {
    const MultiHeadAttentionConfig& a = config_.attention;
    call.self.observer->on_experts({a.part, call.self.layer >= 0 ? call.self.layer : a.layer,
                                    s.experts.logits, config_.experts->used, s.experts.experts,
                                    s.experts.weights, call.self.starts});
  }
  return y;
}

Tensor Block::forward_before(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const {
  ConstTensorView stream = x, input = x;
  Tensor branch;
  if (!attention_norm.empty()) {
    s.attention_step.normed = attention_norm.forward(ctx, x, &s.attention_step.norm);
    input = s.attention_step.normed;
    branch = attention.forward(ctx, input, with_stream(call.self, x), &s.attention);
  } else {
    branch = attention.forward(ctx, input, call.self, &s.attention);
  }
  // Turns the output of a sublayer into the term that it adds to the stream.
  const auto post = [&](const Norm& norm, StepSaved& step) {
    if (!norm.empty()) {
      step.branch = std::move(branch);
      branch = norm.forward(ctx, step.branch, &step.post_norm);
    }
    if (config_.residual_scale != 1) scale(ctx, config_.residual_scale, branch);
  };
  const auto kept = [&] { return config_.residual ? stream : ConstTensorView(); };
  // Adds it and returns the sum, which the next sublayer reads.
  const auto advance = [&](StepPlace place, StepSaved& step, const Norm& norm, StepSaved& next) {
    const Dropout dropout = step_dropout(config_, call, place);
    if (norm.empty()) join(ctx, dropout, kept(), branch);
    else next.normed = join(ctx, dropout, kept(), branch, norm, &next.norm);
    step.sum = std::move(branch);
    stream = step.sum;
    input = norm.empty() ? stream : ConstTensorView(next.normed);
  };
  post(attention_post_norm, s.attention_step);
  advance(StepPlace::attention, s.attention_step, config_.cross ? cross_norm : feed_forward_norm,
          config_.cross ? s.cross_step : s.feed_forward_step);
  if (config_.cross) {
    branch = cross.forward(ctx, input, with_stream(call.cross, stream), &s.cross);
    if (config_.residual_scale != 1) scale(ctx, config_.residual_scale, branch);
    advance(StepPlace::cross, s.cross_step, feed_forward_norm, s.feed_forward_step);
  }
  branch = feed(ctx, input, call, s);
  post(feed_forward_post_norm, s.feed_forward_step);
  join(ctx, step_dropout(config_, call, StepPlace::feed_forward), kept(), branch);
  return branch;
}

Tensor Block::forward_after(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const {
  const auto finish = [&](StepPlace place, const ConstTensorView& stream, Tensor branch, const Norm& norm,
                          StepSaved& step) {
    if (config_.residual_scale != 1) scale(ctx, config_.residual_scale, branch);
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
  return finish(StepPlace::feed_forward, stream, feed(ctx, stream, call, s), feed_forward_norm,
                s.feed_forward_step);
}

Tensor Block::forward_parallel(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const {
  s.attention_step.normed = attention_norm.forward(ctx, x, &s.attention_step.norm);
  if (!feed_forward_norm.empty())
    s.feed_forward_step.normed = feed_forward_norm.forward(ctx, x, &s.feed_forward_step.norm);
  const Tensor& input = feed_forward_norm.empty() ? s.attention_step.normed : s.feed_forward_step.normed;
  Tensor branch = attention.forward(ctx, s.attention_step.normed, with_stream(call.self, x), &s.attention);
  if (config_.residual_scale != 1) scale(ctx, config_.residual_scale, branch);
  join(ctx, step_dropout(config_, call, StepPlace::attention), x, branch);
  Tensor y = feed(ctx, input, call, s);
  if (config_.residual_scale != 1) scale(ctx, config_.residual_scale, y);
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
  if (experts.empty()) feed_forward.collect(list);
  else experts.collect(list);
  feed_forward_post_norm.collect(list);
}

}  // namespace headlight::nn
