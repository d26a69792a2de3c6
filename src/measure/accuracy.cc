#include "measure/accuracy.h"

#include <cmath>
#include <limits>

#include "headlight/reference.h"

namespace headlight::measure {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double rounding_unit(DType dtype) { return dtype == DType::f64 ? 0x1p-53 : 0x1p-24; }

Tensor to_f64(ConstTensorView x) {
  Tensor copy(x.shape(), DType::f64);
  for (Index a = 0; a < x.dim(0); ++a)
    for (Index b = 0; b < x.dim(1); ++b)
      for (Index c = 0; c < x.dim(2); ++c)
        for (Index d = 0; d < x.dim(3); ++d) copy.view().set(a, b, c, d, x.at(a, b, c, d));
  return copy;
}

// NumPy's rule for a rank 4 view: an axis of length 1 serves every index.
double broadcast_at(const ConstTensorView& x, Index b, Index h, Index i, Index j) {
  return x.at(x.dim(0) == 1 ? 0 : b, x.dim(1) == 1 ? 0 : h, x.dim(2) == 1 ? 0 : i, x.dim(3) == 1 ? 0 : j);
}

// Half the distance between neighbours of x in a 16-bit type; 0 for the wide types.
double half_step(DType dtype, double x) {
  if (dtype != DType::f16 && dtype != DType::bf16) return 0;
  const int digits = dtype == DType::f16 ? 11 : 8;
  const int smallest = dtype == DType::f16 ? -24 : -133;  // exponent of the least denormal
  if (x == 0) return std::ldexp(0.5, smallest);
  return std::ldexp(0.5, std::max(std::ilogb(x) - digits + 1, smallest));
}

// One query head's row, with the sums that its tolerance needs.
struct Row {
  const AttentionOptions& options;
  ConstTensorView q, k, v, weights;
  Index b, h, i, kv;
  double scale;

  [[nodiscard]] double hardness(Index j, Index position) const {
    double sum = 0;
    for (Index d = 0; d < q.dim(3); ++d) sum += std::abs(q.at(b, h, i, d) * k.at(b, kv, j, d));
    sum *= std::abs(scale);
    if (!options.bias.empty()) sum += std::abs(broadcast_at(options.bias, b, h, i, j));
    if (!options.alibi_slopes.empty()) {
      sum += options.alibi_slopes.at(h) * std::abs(static_cast<double>(position - j));
    }
    return sum;
  }
  [[nodiscard]] bool sees(Index j) const {
    if (!options.mask.empty() && broadcast_at(options.mask, b, h, i, j) == 0) return false;
    return options.bias.empty() || broadcast_at(options.bias, b, h, i, j) != -kInfinity;
  }

  void tolerance(TensorView unit, TensorView unavoidable) const {
    const auto item = static_cast<std::size_t>(b);
    const Index q_len = options.q_lengths.empty() ? q.dim(2) : options.q_lengths[item];
    const Index k_len = options.k_lengths.empty() ? k.dim(2) : options.k_lengths[item];
    if (i >= q_len) return;
    const Range keys = options.visible.keys_for(i, q_len, k_len);
    const Index position = options.visible.position(i, q_len, k_len);
    double hardest = 0, seen = 0;
    for (Index j = keys.begin; j < keys.end; ++j) {
      if (!sees(j)) continue;
      ++seen;
      hardest = std::max(hardest, hardness(j, position));
    }
    if (!options.sinks.empty()) hardest += std::abs(options.sinks.at(h));
    for (Index d = 0; d < v.dim(3); ++d) {
      double mixed = 0, all = 0;
      for (Index j = keys.begin; j < keys.end; ++j) {
        if (!sees(j)) continue;
        mixed += weights.at(b, h, i, j) * std::abs(v.at(b, kv, j, d));
        all += std::abs(v.at(b, kv, j, d));
      }
      unit.set(b, h, i, d, (1 + hardest + std::sqrt(seen)) * mixed);
      unavoidable.set(b, h, i, d, 0x1p-125 * all);
    }
  }
};

}  // namespace

double error_limit(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

Exact::Exact(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options)
    : dtype_(q.dtype()),
      out_(Shape{q.dim(0), q.dim(1), q.dim(2), v.dim(3)}, DType::f64),
      weights_(Shape{q.dim(0), q.dim(1), q.dim(2), k.dim(2)}, DType::f64),
      unit_(out_.shape(), DType::f64),
      unavoidable_(out_.shape(), DType::f64) {
  const Tensor q64 = to_f64(q), k64 = to_f64(k), v64 = to_f64(v);
  reference::attention(q64, k64, v64, options, {.out = out_.view(), .weights = weights_.view()});
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(q.dim(3))));
  const Index group = q.dim(1) / k.dim(1);
  for (Index b = 0; b < q.dim(0); ++b)
    for (Index h = 0; h < q.dim(1); ++h)
      for (Index i = 0; i < q.dim(2); ++i) {
        const Row row{options, q64, k64, v64, weights_.view(), b, h, i, h / group, scale};
        row.tolerance(unit_.view(), unavoidable_.view());
      }
}

double Exact::scaled_error(ConstTensorView out) const {
  const double u = rounding_unit(dtype_);
  double worst = 0;
  for (Index b = 0; b < out.dim(0); ++b)
    for (Index h = 0; h < out.dim(1); ++h)
      for (Index i = 0; i < out.dim(2); ++i)
        for (Index d = 0; d < out.dim(3); ++d) {
          const double exact = out_.at(b, h, i, d), found = out.at(b, h, i, d);
          const double rounding = half_step(out.dtype(), std::max(std::abs(exact), std::abs(found)));
          const double excess = std::abs(found - exact) - rounding - unavoidable_.at(b, h, i, d);
          if (excess <= 0) continue;
          const double unit = u * unit_.at(b, h, i, d);
          const double error = excess / unit;  // a NaN fails every comparison: caught by the negation
          worst = !(error <= kInfinity) || unit == 0 ? kInfinity : std::max(worst, error);
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

}  // namespace headlight::measure
