// The backward pass of a transformer block, from its last step to its first. `d` is the gradient of the stream: each step
// reads its output gradient there and replaces it by its input gradient.
#include "nn/block.h"

namespace headlight::nn {

struct Block::Backward {
  Context& ctx;
  Block& block;
  ConstTensorView x;
  const BlockCall& call;
  const Saved& saved;
  Tensor d;
  TensorView dmemory, dbias;

  // The gradient of a sublayer's output: that of the stream, scaled like the output and without the dropped elements.
  [[nodiscard]] ConstTensorView branch(StepPlace place, Tensor& memory) {
    const Dropout dropout = step_dropout(block.config_, call, place);
    const double factor = block.config_.residual_scale;
    if (!(dropout.rate > 0) && factor == 1) return d;
    memory = Tensor::uninitialized(d.shape(), d.dtype());
    drop(ctx, dropout, d, memory);
    if (factor != 1) scale(ctx, factor, memory);
    return memory;
  }
  [[nodiscard]] Tensor through(StepPlace place, const ConstTensorView& input, const ConstTensorView& dy) {
    switch (place) {
      case StepPlace::attention:
        return block.attention.backward(ctx, input, call.self, saved.attention, dy, {}, dbias);
      case StepPlace::cross: return block.cross.backward(ctx, input, call.cross, saved.cross, dy, dmemory);
      case StepPlace::feed_forward:
        return block.experts.empty() ? block.feed_forward.backward(ctx, input, saved.feed_forward, dy)
                                     : block.experts.backward(ctx, input, saved.experts, dy);
    }
    return {};
  }

  // stream + f(norm(stream)), with a second norm around f, or with that alone.
  void before(StepPlace place, Norm& norm, Norm& post, const StepSaved& step, const ConstTensorView& stream) {
    Tensor memory;
    ConstTensorView dy = branch(place, memory);
    Tensor dbranch;
    if (!post.empty()) {
      dbranch = post.backward(ctx, step.branch, step.post_norm, dy);
      dy = dbranch;
    }
    Tensor dinput = through(place, norm.empty() ? stream : ConstTensorView(step.normed), dy);
    const bool residual = block.config_.residual;
    if (!norm.empty())
      norm.backward(ctx, stream, step.norm, dinput, d, residual ? ConstTensorView(d) : ConstTensorView());
    else if (residual) add_to(ctx, dinput, d);
    else d = std::move(dinput);
  }
  // norm(stream + f(stream))
  void after(StepPlace place, Norm& norm, const StepSaved& step, const ConstTensorView& stream) {
    norm.backward(ctx, step.sum, step.norm, d, d);
    Tensor memory;
    const Tensor dinput = through(place, stream, branch(place, memory));
    add_to(ctx, dinput, d);
  }
  void parallel() {
    Tensor memory;
    const bool one_norm = block.feed_forward_norm.empty();
    const Tensor& input = one_norm ? saved.attention_step.normed : saved.feed_forward_step.normed;
    const Tensor dforward = through(StepPlace::feed_forward, input, branch(StepPlace::feed_forward, memory));
    Tensor dattention =
        through(StepPlace::attention, saved.attention_step.normed, branch(StepPlace::attention, memory));
    if (one_norm) add_to(ctx, dforward, dattention);
    else block.feed_forward_norm.backward(ctx, x, saved.feed_forward_step.norm, dforward, d, d);
    block.attention_norm.backward(ctx, x, saved.attention_step.norm, dattention, d, d);
  }
};

Tensor Block::backward(Context& ctx, ConstTensorView x, const BlockCall& call, const Saved& saved, Tensor dy,
                       TensorView dmemory, TensorView dbias) {
  const CallScope scope(ctx);
  Backward b{ctx, *this, x, call, saved, std::move(dy), dmemory, dbias};
  const bool has_cross = config_.cross.has_value();
  if (config_.shape != BlockShape::serial) {
    b.parallel();
  } else if (config_.norm_place == NormPlace::after) {
    b.after(StepPlace::feed_forward, feed_forward_norm, saved.feed_forward_step,
            has_cross ? saved.after_cross : saved.after_attention);
    if (has_cross) b.after(StepPlace::cross, cross_norm, saved.cross_step, saved.after_attention);
    b.after(StepPlace::attention, attention_norm, saved.attention_step, x);
  } else {
    Norm none;
    b.before(StepPlace::feed_forward, feed_forward_norm, feed_forward_post_norm, saved.feed_forward_step,
             has_cross ? saved.cross_step.sum : saved.attention_step.sum);
    if (has_cross) b.before(StepPlace::cross, cross_norm, none, saved.cross_step, saved.attention_step.sum);
    b.before(StepPlace::attention, attention_norm, attention_post_norm, saved.attention_step, x);
  }
  return std::move(b.d);
}

}  // namespace headlight::nn
