#include "attention/accuracy.h"

#include <cmath>
#include <limits>

#include "headlight/reference.h"

namespace headlight::accuracy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The terms of a score: its bias, and the magnitudes of the others.
struct KeySize {
  double bias = 0, rest = 0;
};

// Hardness and lift of a row from the keys that can have any weight.
void measure_keys(const std::vector<KeySize>& sizes, double sink, RowBound& row) {
  double top = sink, lead = 0;  // the largest score is at least `top`
  for (const KeySize& size : sizes) top = std::max(top, size.bias - size.rest);
  bool swamped = false, alike = true;
  for (const KeySize& size : sizes) {
    // exp(-750) is 0 in f64 too; the rest of the margin covers rounding of the two scores.
    const double margin = 750 + 0x1p-16 * (std::abs(size.bias) + std::abs(top));
    if (std::abs(size.bias) > 1e6 && size.bias + size.rest < top - margin) continue;
    row.hardness = std::max(row.hardness, size.rest + std::abs(size.bias));
    alike &= (!swamped || size.bias == lead) && size.rest <= 0x1p-60 * std::abs(size.bias);
    lead = size.bias;
    swamped = true;
  }
  if (!swamped || !alike) return;
  row.lift = std::abs(lead);
  row.hardness = 0;
}

}  // namespace

Tensor exact_copy(const ConstTensorView& x) {
  Tensor copy(x.shape(), DType::f64);
  const TensorView to = copy;
  for (Index a = 0; a < x.dim(0); ++a)
    for (Index b = 0; b < x.dim(1); ++b)
      for (Index c = 0; c < x.dim(2); ++c)
        for (Index d = 0; d < x.dim(3); ++d) to.set(a, b, c, d, x.at(a, b, c, d));
  return copy;
}

double error_limit(DType dtype) { return dtype == DType::f64 ? 8 : 4; }
double rounding_unit(DType dtype) { return dtype == DType::f64 ? 0x1p-53 : 0x1p-24; }
double flushed_weight(DType dtype) { return dtype == DType::f64 ? 0x1p-1021 : 0x1p-125; }

double half_step(DType dtype, double x) {
  if (dtype != DType::f16 && dtype != DType::bf16) return 0;
  const int digits = dtype == DType::f16 ? 11 : 8, lowest = dtype == DType::f16 ? -14 : -126;
  const int exponent = x != 0 ? std::max(std::ilogb(x), lowest) : lowest;
  return std::ldexp(1.0, exponent - digits);
}

std::vector<Index> keys_of(const Problem& p, const Sequence& s, Index h, Index i) {
  std::vector<Index> keys;
  const Range range = p.keys_for(s, i);
  for (Index j = range.begin; j < range.end; ++j) {
    if (p.mask.data != nullptr && p.mask.at(s.item, h, i, j) == 0) continue;
    if (p.bias.data != nullptr && p.bias.at(s.item, h, i, j) == -kInfinity) continue;
    keys.push_back(j);
  }
  return keys;
}

RowBound row_bound(const Problem& p, const Sequence& s, Index h, Index i, std::span<const Index> keys) {
  const AttentionOptions& o = *p.options;
  const double* q = p.q.as<double>() + row_offset(p.q, s.batch, h, s.q_start + i);
  RowBound row{.keys = static_cast<Index>(keys.size())};
  std::vector<KeySize> sizes;
  for (const Index j : keys) {
    const double* k = p.k.as<double>() + row_offset(p.k, s.batch, h / p.group, s.k_start + j);
    KeySize size;
    for (Index d = 0; d < p.dim; ++d) size.rest += std::abs(q[d]) * std::abs(k[d]);
    size.rest *= std::abs(p.scale);
    if (!o.alibi_slopes.empty())
      size.rest += std::abs(o.alibi_slopes.at(h)) * std::abs(static_cast<double>(i + s.offset - j));
    if (p.bias.data != nullptr) size.bias = p.bias.at(s.item, h, i, j);
    sizes.push_back(size);
  }
  measure_keys(sizes, o.sinks.empty() ? -kInfinity : o.sinks.at(h), row);
  if (!o.sinks.empty() && row.lift == 0) row.hardness += std::abs(o.sinks.at(h));
  return row;
}

double scaled_error(double found, double truth, double u, const RowBound& row, double size, double slack) {
  if (std::isnan(found) != std::isnan(truth)) return kInfinity;
  const double off = std::abs(found - truth);
  if (found == truth || off <= slack) return 0;
  return (off - slack) / (u * (1 + row.hardness + std::sqrt(static_cast<double>(row.keys))) * size);
}

Exact::Exact(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
             DType judged)
    : dtype_(judged),
      out_(Shape{q.dim(0), q.dim(1), q.dim(2), v.dim(3)}, DType::f64),
      size_(out_.shape(), DType::f64),
      reach_(out_.shape(), DType::f64),
      rows_(static_cast<std::size_t>(q.dim(0) * q.dim(1) * q.dim(2))) {
  const Tensor q64 = exact_copy(q), k64 = exact_copy(k), v64 = exact_copy(v);
  const Problem p = check_call("attention", q64, k64, v64, options);
  weights_ = Tensor({p.sequences, p.q_heads, p.q_longest, p.k_longest}, DType::f64);
  reference::attention(q64, k64, v64, options, {.out = out_.view(), .weights = weights_.view()});
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h)
      for (Index i = 0; i < s.q_len; ++i) measure_row(p, s, h, i);
  }
}

void Exact::measure_row(const Problem& p, const Sequence& s, Index h, Index i) {
  const std::vector<Index> keys = keys_of(p, s, h, i);
  const Index row = (s.batch * p.q_heads + h) * p.q_total + s.q_start + i;
  rows_[static_cast<std::size_t>(row)] = row_bound(p, s, h, i, keys);
  double *size = size_.as<double>() + row * p.value_dim, *reach = reach_.as<double>() + row * p.value_dim;
  for (const Index j : keys) {
    const double* v = p.v.as<double>() + row_offset(p.v, s.batch, h / p.group, s.k_start + j);
    const double weight = weights_.at(s.item, h, i, j);
    for (Index d = 0; d < p.value_dim; ++d) {
      size[d] += weight * std::abs(v[d]);
      reach[d] += std::abs(v[d]);
    }
  }
}

double Exact::scaled_error(ConstTensorView out) const {
  const double u = rounding_unit(dtype_), flushed = flushed_weight(dtype_);
  double worst = 0;
  std::size_t row = 0;
  for (Index b = 0; b < out.dim(0); ++b)
    for (Index h = 0; h < out.dim(1); ++h)
      for (Index i = 0; i < out.dim(2); ++i, ++row)
        for (Index d = 0; d < out.dim(3); ++d) {
          const double exact = out_.at(b, h, i, d), found = out.at(b, h, i, d);
          if (!std::isfinite(found)) return kInfinity;
          const double slack = half_step(out.dtype(), std::max(std::abs(exact), std::abs(found))) +
                               flushed * reach_.at(b, h, i, d);
          const double error =
              accuracy::scaled_error(found, exact, u, rows_[row], size_.at(b, h, i, d), slack);
          worst = error <= kInfinity ? std::max(worst, error) : kInfinity;
        }
  return worst;
}

double Exact::row_sum_error(ConstTensorView weights, ConstTensorView sink_weight) const {
  double worst = 0;
  for (Index b = 0; b < weights.dim(0); ++b)
    for (Index h = 0; h < weights.dim(1); ++h)
      for (Index i = 0; i < weights.dim(2); ++i) {
        double sum = 0, exact = 0;
        for (Index j = 0; j < weights.dim(3); ++j) {
          sum += weights.at(b, h, i, j);
          exact += weights_.at(b, h, i, j);
        }
        // Rows that see nothing sum to exactly 0; rows with a sink to 1 with its share.
        const bool empty = exact == 0;
        if (!empty && !sink_weight.empty()) sum += sink_weight.at(b, h, i);
        const double allowed = 4 * rounding_unit(dtype_) * std::sqrt(static_cast<double>(weights.dim(3)));
        const double error = empty ? (sum == 0 ? 0 : kInfinity) : std::abs(sum - 1) / allowed;
        worst = error <= kInfinity ? std::max(worst, error) : kInfinity;
      }
  return worst;
}

}  // namespace headlight::accuracy
