#include "headlight/reference.h"

#include <cmath>
#include <vector>

#include "attention/reference_row.h"
#include "core/float_mode.h"
#include "core/random.h"

namespace headlight::reference {
namespace {

// The sum of term(begin) … term(end-1), by halves, so that rounding errors do not grow with the length.
template <class Term>
double sum(Index begin, Index end, const Term& term) {
  if (end - begin > 128) {
    const Index middle = begin + (end - begin) / 2;
    return sum(begin, middle, term) + sum(middle, end, term);
  }
  double total = 0;
  for (Index i = begin; i < end; ++i) total += term(i);
  return total;
}

}  // namespace

// [score]
// How well query i of a sequence matches key j, by head h.
double match(const Problem& p, const Sequence& s, Index h, Index i, Index j) {
  const Index kv = h / p.group;  // consecutive query heads share one key/value head
  double dot = 0;
  for (Index d = 0; d < p.dim; ++d) {
    dot += p.q.at(s.batch, h, s.q_start + i, d) * p.k.at(s.batch, kv, s.k_start + j, d);
  }
  return p.scale * dot;
}

double score(const Problem& p, const Sequence& s, Index h, Index i, Index j) {
  const AttentionOptions& o = *p.options;
  double x = match(p, s, h, i, j);
  if (o.softcap > 0) x = o.softcap * std::tanh(x / o.softcap);
  if (!o.alibi_slopes.empty()) x -= o.alibi_slopes.at(h) * static_cast<double>(std::abs(i + s.offset - j));
  if (!o.bias.empty()) x += p.bias.at(s.item, h, i, j);
  return x;
}
// [/score]

namespace {

// The factor of dropout: 0, or 1/(1 - rate).
double dropout_factor(const Problem& p, const Sequence& s, Index h, Index i, Index j) {
  const Dropout& dropout = p.options->dropout;
  if (dropout.rate == 0) return 1;
  const bool kept = DropoutKey::of(dropout.rate, dropout.seed, dropout.layer).keeps(s.item, h, i, j);
  return kept ? 1 / (1 - dropout.rate) : 0;
}

}  // namespace

// [softmax]
// The weights of one query over the keys it may see. A key that is masked, or whose score is -inf, is
// left out entirely. A score of +inf or NaN makes the row NaN.
Row softmax_row(const Problem& p, const Sequence& s, Index h, Index i) {
  Row row;
  if (i >= s.q_len) return row;  // a padding row has no weights, and no sink
  bool broken = false;
  const Range range = p.keys_for(s, i);
  for (Index j = range.begin; j < range.end; ++j) {
    if (!p.options->mask.empty() && p.mask.at(s.item, h, i, j) == 0) continue;
    const double x = score(p, s, h, i, j);
    if (x == -kInfinity) continue;
    row.keys.push_back({j, x, 0, dropout_factor(p, s, h, i, j)});
    row.max = std::max(row.max, x);
    broken |= std::isnan(x) || x == kInfinity;
  }
  const double sink = p.options->sinks.empty() ? -kInfinity : p.options->sinks.at(h);
  broken |= std::isnan(sink) || sink == kInfinity;
  if (broken) {
    for (Seen& key : row.keys) key.weight = kNaN;
    row.max = row.lse = row.entropy = kNaN;
    row.sink_weight = p.options->sinks.empty() ? 0 : kNaN;
    return row;
  }
  const double top = std::max(row.max, sink);  // subtracted to keep exp() in range
  if (top == -kInfinity) return row;
  const auto n = static_cast<Index>(row.keys.size());
  const auto at = [&](Index r) -> Seen& { return row.keys[static_cast<std::size_t>(r)]; };
  const double total = std::exp(sink - top) + sum(0, n, [&](Index r) { return std::exp(at(r).score - top); });
  row.lse = top + std::log(total);
  // Not exp(score - lse): with scores of 1e4, lse has too few digits left after the point.
  for (Seen& key : row.keys) key.weight = std::exp(key.score - top) / total;
  row.sink_weight = std::exp(sink - top) / total;
  // Entropy, the mean of -log(weight): also relative to `top`, for the same reason.
  const double below = sum(0, n, [&](Index r) { return at(r).weight * (at(r).score - top); }) +
                       (row.sink_weight > 0 ? row.sink_weight * (sink - top) : 0);
  row.entropy = std::max(0.0, std::log(total) - below);
  return row;
}
// [/softmax]

namespace {

// Keys with the largest weights first, the earlier key of two equal ones; -1 and 0 where there are no more.
// A broken row has no order: -1 and NaN.
void store_top(const AttentionOutputs& o, Index b, Index h, Index token, const Row& row) {
  const TensorView& any = o.topk_index.empty() ? o.topk_weight : o.topk_index;
  if (any.empty()) return;
  std::vector<Seen> order = row.keys;
  std::stable_sort(order.begin(), order.end(),
                   [](const Seen& a, const Seen& c) { return a.score > c.score; });
  if (std::isnan(row.lse)) order.clear();
  for (Index place = 0; place < any.dim(3); ++place) {
    Seen key{-1, 0, std::isnan(row.lse) ? kNaN : 0};
    if (place < static_cast<Index>(order.size())) key = order[static_cast<std::size_t>(place)];
    if (!o.topk_index.empty()) o.topk_index.set(b, h, token, place, static_cast<double>(key.key));
    if (!o.topk_weight.empty()) o.topk_weight.set(b, h, token, place, key.weight);
  }
}

void store_statistics(const AttentionOutputs& o, const Sequence& s, Index h, Index i, const Row& row) {
  const Index token = s.q_start + i;
  if (!o.lse.empty()) o.lse.set(s.batch, h, token, row.lse);
  if (!o.max.empty()) o.max.set(s.batch, h, token, row.max);
  if (!o.entropy.empty()) o.entropy.set(s.batch, h, token, row.entropy);
  if (!o.sink_weight.empty()) o.sink_weight.set(s.batch, h, token, row.sink_weight);
  store_top(o, s.batch, h, token, row);
  if (!o.weights.empty()) {
    for (const Seen& key : row.keys) o.weights.set(s.item, h, i, key.key, key.weight);
  }
}

void fill_zero(const TensorView& weights) {
  if (weights.empty()) return;
  for (Index b = 0; b < weights.dim(0); ++b)
    for (Index h = 0; h < weights.dim(1); ++h)
      for (Index i = 0; i < weights.dim(2); ++i)
        for (Index j = 0; j < weights.dim(3); ++j) weights.set(b, h, i, j, 0);
}

}  // namespace

// [forward]
void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
               const AttentionOutputs& outputs) {
  const DefaultFloatMode float_mode;
  const Problem p = check_call("attention", q, k, v, options);
  check_outputs("attention", p, outputs);
  fill_zero(outputs.weights);  // pairs that are not visible are not visited below
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h) {
      std::vector<double> received(static_cast<std::size_t>(s.k_rows));
      for (Index i = 0; i < s.q_rows; ++i) {
        // 1. How well does query i match each key it may see? Turn that into weights that sum to one.
        const Row row = softmax_row(p, s, h, i);

        // 2. Sum the values with those weights, without the ones that dropout drops. A query that sees
        // no key returns zero.
        const auto seen = static_cast<Index>(row.keys.size());
        for (Index d = 0; d < p.value_dim; ++d) {
          const double mix = sum(0, seen, [&](Index r) {
            const Seen& key = row.keys[static_cast<std::size_t>(r)];
            return key.weight * key.kept * v.at(s.batch, h / p.group, s.k_start + key.key, d);
          });
          outputs.out.set(s.batch, h, s.q_start + i, d, std::isnan(row.lse) ? kNaN : mix);
        }

        // 3. Store the requested statistics.
        store_statistics(outputs, s, h, i, row);
        for (const Seen& key : row.keys) received[static_cast<std::size_t>(key.key)] += key.weight;
      }
      if (outputs.received.empty()) continue;
      for (Index j = 0; j < s.k_rows; ++j) {
        outputs.received.set(s.batch, h, s.k_start + j, received[static_cast<std::size_t>(j)]);
      }
    }
  }
}
// [/forward]

}  // namespace headlight::reference
