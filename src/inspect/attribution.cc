#include "inspect/attribution.h"

#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/exact_layers.h"

namespace headlight::inspect {
namespace {

using Vector = std::vector<double>;

void add(Vector& sum, const Vector& v) {
  if (sum.empty()) sum.resize(v.size());
  for (std::size_t d = 0; d < v.size(); ++d) sum[d] += v[d];
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

// A norm as it was in this run: linear, because its divisor is constant.
class FrozenNorm {
 public:
  FrozenNorm(const nn::Norm& norm, const nn::NormConfig& config, const nn::Norm::Saved& saved, Index row)
      : norm_(norm), config_(config), factor_(saved.rstd.at(row)) {}

  void apply(Vector& v) const {
    double mean = 0;
    if (config_.kind == nn::NormKind::layer) {
      for (const double x : v) mean += x;
      mean /= static_cast<double>(v.size());
    }
    for (std::size_t d = 0; d < v.size(); ++d) {
      const double weight = norm_.weight.value.at(static_cast<Index>(d)) + (config_.weight_plus_one ? 1 : 0);
      v[d] = (v[d] - mean) * factor_ * weight;
    }
  }
  void add_bias(Vector& v) const {
    if (norm_.bias.value.empty()) return;
    for (std::size_t d = 0; d < v.size(); ++d) v[d] += norm_.bias.value.at(static_cast<Index>(d));
  }

 private:
  const nn::Norm& norm_;
  const nn::NormConfig& config_;
  double factor_;
};

// The components of the residual stream at one token.
struct Parts {
  Vector embedding, feed_forward, biases;
  std::vector<std::pair<HeadContribution, Vector>> heads;

  void pass(const FrozenNorm& norm) {
    for (Vector* part : {&embedding, &feed_forward, &biases}) norm.apply(*part);
    for (auto& [head, v] : heads) norm.apply(v);
    norm.add_bias(biases);
  }
};

// Walks along the stream and collects the contribution of each component.
class Walk {
 public:
  Walk(Context& ctx, const models::Stack& stack, const models::Stack::Saved& saved, Index row)
      : ctx_(ctx), stack_(stack), saved_(saved), row_(row) {}

  Parts run() {
    parts_.embedding = row_of(saved_.inputs[0], row_);
    parts_.feed_forward.resize(parts_.embedding.size());
    parts_.biases.resize(parts_.embedding.size());
    for (layer_ = 0; layer_ < static_cast<int>(stack_.layers()); ++layer_)
      block(stack_.block(static_cast<std::size_t>(layer_)), saved_.blocks[static_cast<std::size_t>(layer_)]);
    if (!stack_.final_norm.empty())
      parts_.pass({stack_.final_norm, *stack_.config().final_norm, saved_.final_norm, row_});
    return std::move(parts_);
  }

 private:
  void block(const nn::Block& b, const nn::Block::Saved& s) {
    const nn::NormConfig& norm = b.config().norm;
    const bool after = b.config().norm_place == nn::NormPlace::after;
    times_ = b.config().residual_scale;
    attention(b.attention, s.attention, post(b, b.attention_post_norm, s.attention_step));
    if (after) parts_.pass({b.attention_norm, norm, s.attention_step.norm, row_});
    if (b.config().cross) {
      attention(b.cross, s.cross, std::nullopt);
      if (after) parts_.pass({b.cross_norm, norm, s.cross_step.norm, row_});
    }
    feed_forward(b, s, post(b, b.feed_forward_post_norm, s.feed_forward_step));
    if (after) parts_.pass({b.feed_forward_norm, norm, s.feed_forward_step.norm, row_});
  }

  [[nodiscard]] std::optional<FrozenNorm> post(const nn::Block& b, const nn::Norm& norm,
                                               const nn::Block::StepSaved& step) const {
    if (norm.empty()) return std::nullopt;
    return FrozenNorm(norm, b.config().norm, step.post_norm, row_);
  }

  // The output projection of each head, and its bias, which belongs to no head.
  void attention(const nn::MultiHeadAttention& a, const nn::MultiHeadAttention::Saved& s,
                 const std::optional<FrozenNorm>& post) {
    const nn::MultiHeadAttentionConfig& c = a.config();
    const Index dim = c.value_dim();
    Tensor alone({c.heads + 1, c.heads * dim}, s.mixed.dtype());
    for (Index h = 0; h < c.heads; ++h)
      for (Index d = h * dim; d < (h + 1) * dim; ++d) alone.view().set(h, d, s.mixed.at(row_, d));
    const Tensor out = a.out.forward(ctx_, alone);
    Vector bias = row_of(out, c.heads);
    for (Index h = 0; h < c.heads; ++h) {
      Vector v = row_of(out, h);
      for (std::size_t d = 0; d < v.size(); ++d) v[d] -= bias[d];
      if (post) post->apply(v);
      grow(v);
      parts_.heads.emplace_back(HeadContribution{c.part, {layer_, static_cast<int>(h)}, 0}, std::move(v));
    }
    if (post) {
      post->apply(bias);
      post->add_bias(bias);
    }
    grow(bias);
    add(parts_.biases, bias);
  }

  // Some models scale the output of a sublayer.
  void grow(Vector& v) const {
    for (double& x : v) x *= times_;
  }

  // The output of the block's feed-forward, or its experts, for this token.
  [[nodiscard]] Vector answer(const nn::Block& b, const nn::Block::Saved& s) const {
    if (b.experts.empty()) {
      const Tensor& active = s.feed_forward.active;
      Tensor one({1, active.dim(1)}, active.dtype());
      for (Index d = 0; d < active.dim(1); ++d) one.view().set(0, d, active.at(row_, d));
      return row_of(b.feed_forward.down.forward(ctx_, one), 0);
    }
    const bool one_norm = b.config().shape == nn::BlockShape::parallel_one_norm;
    const Tensor& read = one_norm                      ? s.attention_step.normed
                         : b.feed_forward_norm.empty() ? s.attention_step.sum
                                                       : s.feed_forward_step.normed;
    Tensor one({1, read.dim(1)}, read.dtype());
    for (Index d = 0; d < read.dim(1); ++d) one.view().set(0, d, read.at(row_, d));
    nn::Experts::Saved unwanted;
    return row_of(b.experts.forward(ctx_, one, unwanted), 0);
  }

  void feed_forward(const nn::Block& b, const nn::Block::Saved& s, const std::optional<FrozenNorm>& post) {
    Vector v = answer(b, s);
    if (post) {
      post->apply(v);
      Vector bias(v.size());
      post->add_bias(bias);
      grow(bias);
      add(parts_.biases, bias);
    }
    grow(v);
    add(parts_.feed_forward, v);
  }

  Context& ctx_;
  const models::Stack& stack_;
  const models::Stack::Saved& saved_;
  Index row_;
  int layer_ = 0;
  double times_ = 1;
  Parts parts_;
};

void check_model(const LoadedModel& loaded) {
  const models::TransformerConfig& c = loaded.model->config();
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorKind::usage, "attribution.model",
                concat("\"", escaped(loaded.name), "\" ", why, "; its logits are not a sum of head outputs"));
  };
  if (c.head.absent) refuse("has no logits");
  if (c.head.masked) refuse("has a layer with an activation before its logits");
  if (c.head.narrowed) refuse("has a projection to a smaller width before its logits");
}

}  // namespace

Attribution attribute_logit(Context& ctx, const LoadedModel& loaded, const ModelInput& input, Index row,
                            std::int32_t token, Observer* observer) {
  check_model(loaded);
  const models::Transformer& model = *loaded.model;
  const models::TransformerConfig& c = model.config();
  const bool both = c.kind == models::ModelKind::encoder_decoder;
  const models::Tokens source = one_sequence(input.source),
                       read = both ? one_sequence(decoder_input(loaded, input)) : source;
  models::StackCall call{.tokens = read, .types = input.types, .observer = observer};
  Tensor memory;
  if (both) {
    memory = model.encode(ctx, source);
    call.memory = {memory, source.starts};
  }
  const models::Stack& stack =
      model.stack(c.kind == models::ModelKind::encoder ? Part::encoder : Part::decoder);
  models::Stack::Saved saved;
  const Tensor x = stack.forward(ctx, model.embedding(), call, &saved);
  const Parts parts = Walk(ctx, stack, saved, row).run();

  const models::Head& head = model.head();
  const Parameter& table = head.projection.empty() ? model.embedding().weight : head.projection.weight;
  Vector direction;
  for (Index d = 0; d < c.width; ++d) direction.push_back(c.head.scale * table.at(token, d));
  const double bias = head.bias.value.empty()       ? 0
                      : head.bias.value.rank() == 2 ? head.bias.value.at(Index{0}, Index{token})
                                                    : head.bias.value.at(Index{token});
  Attribution result{.row = row, .token = token, .heads = {}};
  for (const auto& [place, v] : parts.heads) {
    result.heads.push_back(place);
    result.heads.back().logit = dot(v, direction);
  }
  result.embedding = dot(parts.embedding, direction);
  result.feed_forward = dot(parts.feed_forward, direction);
  result.biases = dot(parts.biases, direction) + bias;
  result.logit = dot(row_of(x, row), direction) + bias;
  return result;
}

}  // namespace headlight::inspect

double headlight::Attribution::sum() const {
  double all = embedding + feed_forward + biases;
  for (const HeadContribution& head : heads) all += head.logit;
  return all;
}
