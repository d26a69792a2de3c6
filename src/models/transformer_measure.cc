// Operations of a batch, and initial values of parameters.
#include <algorithm>
#include <cmath>

#include "core/float_mode.h"
#include "models/numbers.h"
#include "models/transformer.h"

namespace headlight::models {
namespace {

// Multiply-adds per token: one for the forward pass, and one for each gradient, of the input and of the matrix.
double multiplied(const Parameter& matrix) {
  return matrix.empty() ? 0 : (matrix.trained ? 3 : 2) * static_cast<double>(matrix.shape().elements());
}
double elements(const nn::Linear& linear) {
  return multiplied(linear.weight) + multiplied(linear.adapter.a) + multiplied(linear.adapter.b);
}

// Pairs of query and key, by the benchmarks' rule: causal counts exactly half.
double pairs(Index queries, Index keys, const Visibility& visible) {
  const auto q = static_cast<double>(queries), k = static_cast<double>(keys);
  if (visible.left < keys) return q * std::min(k, static_cast<double>(visible.left + 1));
  return visible.right == 0 ? q * k / 2 : q * k;
}

double attention_flops(const nn::MultiHeadAttention& a, const Tokens& queries, const Tokens& keys) {
  double sum = 0;
  for (std::size_t s = 0; s + 1 < queries.starts.size(); ++s) {
    sum += pairs(queries.starts[s + 1] - queries.starts[s], keys.starts[s + 1] - keys.starts[s],
                 a.config().visible);
  }
  return 3.5 * 4 * sum * static_cast<double>(a.config().heads * a.config().head_dim);
}

double elements(const nn::FeedForward& f) { return elements(f.gate) + elements(f.up) + elements(f.down); }

// The parameters used for one token.
double feed_forward_elements(const nn::Block& block) {
  if (block.experts.empty()) return elements(block.feed_forward);
  return elements(block.experts.router) + elements(block.experts.shared) +
         static_cast<double>(block.experts.config().used) * elements(block.experts.experts.front());
}

double stack_flops(const Stack& stack, const Tokens& tokens, const Tokens& source) {
  const auto n = static_cast<double>(tokens.size()), m = static_cast<double>(source.size());
  double sum = 0;
  for (std::size_t layer = 0; layer < stack.layers(); ++layer) {
    const nn::Block& block = stack.block(layer);
    const nn::MultiHeadAttention &self = block.attention, &cross = block.cross;
    const double own = elements(self.query) + elements(self.key) + elements(self.value) +
                       elements(self.packed) + elements(self.out) + elements(self.query_down) +
                       elements(self.down) + elements(self.up) + feed_forward_elements(block);
    sum += 2 * n * (own + elements(cross.query) + elements(cross.out));
    sum += 2 * m * (elements(cross.key) + elements(cross.value));
    sum += attention_flops(self, tokens, tokens);
    if (block.config().cross) sum += attention_flops(cross, tokens, source);
  }
  return sum;
}

}  // namespace

double Transformer::flops(const Batch& batch) const {
  double sum = stack_flops(main(), batch.input, batch.source);
  if (config_.kind == ModelKind::encoder_decoder) sum += stack_flops(encoder_, batch.source, {});
  double counted = 0;
  for (const std::int32_t target : batch.targets) counted += target != kIgnored ? 1 : 0;
  const Parameter& table = head_.projection.empty() ? embedding_.weight : head_.projection.weight;
  return sum + 2 * counted * (multiplied(table) + elements(head_.transform));
}

// GPT's rule: normal numbers, smaller in the projections that write to the stream, so that the stream does not grow with
// depth. Encoder-decoders as in 2017: uniform by fan-in and fan-out, and embeddings that are normal after
// scaling.
void Transformer::initialize(std::uint64_t seed) {
  const DefaultFloatMode float_mode;
  const Parameters list = parameters();
  const auto depth = static_cast<double>(config_.encoder.size() + config_.decoder.size());
  const bool fans = config_.kind == ModelKind::encoder_decoder;
  std::vector<const Parameter*> joins, embeddings = {&embedding_.weight};
  for (Stack* stack : {&encoder_, &decoder_}) {
    embeddings.insert(embeddings.end(), {&stack->positions.weight, &stack->types.weight});
    for (nn::Block& block : stack->blocks) {
      joins.insert(joins.end(), {&block.attention.out.weight, &block.cross.out.weight,
                                 &block.feed_forward.down.weight, &block.experts.shared.down.weight});
      for (nn::FeedForward& expert : block.experts.experts) joins.push_back(&expert.down.weight);
    }
  }
  for (std::size_t p = 0; p < list.size(); ++p) {
    Parameter& parameter = *list[p];
    Tensor& value = parameter.value;
    if (value.rank() == 1 || !parameter.trained) {
      // Biases are 0; norms multiply by 1, which some families store as 0.
      const bool norm = parameter.name.ends_with(".weight") && !config_.main().front().norm.weight_plus_one;
      for (Index i = 0; i < value.dim(value.rank() - 1); ++i) {
        if (value.rank() == 1) value.view().set(i, norm ? 1.0 : 0.0);
        else value.view().set(0, i, 0.0);
      }
      continue;
    }
    const InitialNumbers numbers(seed, p);
    const bool embedding = std::find(embeddings.begin(), embeddings.end(), &parameter) != embeddings.end();
    const bool join = std::find(joins.begin(), joins.end(), &parameter) != joins.end();
    double range = config_.initial_range;
    if (fans && embedding) range = 1 / std::sqrt(static_cast<double>(config_.width));
    if (!fans && join) range /= std::sqrt(2 * depth);
    const double limit = std::sqrt(6.0 / static_cast<double>(value.dim(0) + value.dim(1)));
    if (fans && !embedding) numbers.fill(value, InitialNumbers::Shape::uniform, limit);
    else numbers.fill(value, InitialNumbers::Shape::normal, range);
  }
}

}  // namespace headlight::models
