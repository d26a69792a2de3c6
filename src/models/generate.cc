#include "models/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/concat.h"
#include "core/random.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

// Above 0 and below 1, from (seed, item, place) alone.
double draw(std::uint64_t seed, Index item, Index place) {
  const PhiloxCounter w =
      philox({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(item), 0, 0x44524157U},
             static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  const std::uint64_t bits = (static_cast<std::uint64_t>(w[0]) << 32 | w[1]) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

ConstTensorView row_of(const Tensor& logits, Index row) {
  return {logits.as<float>() + row * logits.dim(1), {logits.dim(1)}};
}

// How many tokens still fit behind the longest sequence.
Index room(const TransformerConfig& config, Index longest, Index wanted) {
  const bool limited =
      config.positions == PositionKind::learned || config.positions == PositionKind::sinusoidal;
  // The last token that is chosen is never read.
  return limited ? std::min(wanted, std::max<Index>(0, config.max_positions - longest + 1)) : wanted;
}

std::vector<std::vector<std::int32_t>> write(Context& ctx, const Transformer& model, Decoding decoding,
                                             const Tokens& prompts, const SamplingOptions& options) {
  const TensorRecycler recycler;  // every step makes the same tensors
  const auto items = static_cast<std::size_t>(decoding.items);
  std::vector<std::vector<std::int32_t>> written(items);
  std::vector<bool> done(items, false);
  Index longest = 0;
  for (std::size_t s = 0; s < items; ++s)
    longest = std::max(longest, prompts.starts[s + 1] - prompts.starts[s]);
  const Index steps = room(model.config(), longest, options.most);
  const Tokens* next = &prompts;
  Tokens step;
  for (Index place = 0; place < steps; ++place) {
    const Tensor logits = model.next(ctx, decoding, *next, {.observer = options.observer});
    step = {};
    bool any = false;
    for (std::size_t i = 0; i < items; ++i) {
      std::int32_t token = 0;
      if (!done[i]) {
        token = choose_token(row_of(logits, static_cast<Index>(i)), options, static_cast<Index>(i), place);
        done[i] = options.stop_at_eos && token == model.config().eos;
        if (!done[i]) {
          written[i].push_back(token);
          if (options.on_token && !options.on_token(static_cast<Index>(i), token)) done[i] = true;
        }
      }
      any = any || !done[i];
      step.append(std::span(&token, 1));
    }
    if (!any) break;
    next = &step;
  }
  return written;
}

}  // namespace

std::int32_t choose_token(ConstTensorView logits, const SamplingOptions& options, Index item, Index place) {
  const Index n = logits.dim(0);
  const float* z = logits.as<float>();
  if (!(options.temperature >= 0) || options.top_k < 0 || !(options.top_p > 0 && options.top_p <= 1)) {
    throw Error(ErrorKind::usage, "model.sampling",
                concat("sampling with temperature ", options.temperature, ", top_k ", options.top_k,
                       ", top_p ", options.top_p, "; need at least 0, at least 0, and above 0 up to 1"));
  }
  if (options.temperature == 0) return static_cast<std::int32_t>(std::max_element(z, z + n) - z);
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](std::int32_t a, std::int32_t b) { return z[a] != z[b] ? z[a] > z[b] : a < b; };
  Index kept = options.top_k > 0 ? std::min(options.top_k, n) : n;
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), better);
  std::vector<double> weight(static_cast<std::size_t>(kept));
  double sum = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight[i] =
        std::exp((static_cast<double>(z[order[i]]) - static_cast<double>(z[order[0]])) / options.temperature);
    sum += weight[i];
  }
  if (options.top_p < 1) {
    double together = 0;
    Index count = 0;
    while (count < kept && together < options.top_p * sum)
      together += weight[static_cast<std::size_t>(count++)];
    kept = count, sum = together;
  }
  double left = draw(options.seed, item, place) * sum;
  for (Index i = 0; i + 1 < kept; ++i) {
    left -= weight[static_cast<std::size_t>(i)];
    if (left < 0) return order[static_cast<std::size_t>(i)];
  }
  return order[static_cast<std::size_t>(kept - 1)];
}

std::vector<std::vector<std::int32_t>> generate(Context& ctx, const Transformer& model, const Tokens& prompts,
                                                const SamplingOptions& options) {
  return write(ctx, model, model.start(ctx, prompts.sequences()), prompts, options);
}

std::vector<std::vector<std::int32_t>> transform(Context& ctx, const Transformer& model, const Tokens& source,
                                                 const SamplingOptions& options) {
  const std::int32_t start = model.config().decoder_start;
  if (start < 0)
    throw Error(ErrorKind::usage, "model.start", "this model names no token to start with (decoder_start)");
  Tokens prompts;
  for (Index s = 0; s < source.sequences(); ++s) prompts.append(std::span(&start, 1));
  return write(ctx, model, model.start(ctx, source, {.observer = options.observer}), prompts, options);
}

}  // namespace headlight::models
