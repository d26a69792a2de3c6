#include <cmath>
#include <vector>

#include "attention/reference_row.h"
#include "core/float_mode.h"
#include "headlight/reference.h"

namespace headlight::reference {
namespace {

// Sums in float64 for a tensor of any dtype, rounded once at the end.
class Totals {
 public:
  // With four axes: those that `shape` does not have, or has with one element, count as one.
  explicit Totals(const Shape& shape)
      : values_(shape.rank == 0 ? 0 : static_cast<std::size_t>(shape.elements())) {
    Index step = 1;
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
      if (shape[axis] != 1) strides_[kMaxRank - shape.rank + axis] = step;
      step *= shape[axis];
    }
  }
  [[nodiscard]] bool wanted() const { return !values_.empty(); }
  double& at(Index a, Index b, Index c, Index d) {
    return values_[static_cast<std::size_t>(a * strides_[0] + b * strides_[1] + c * strides_[2] +
                                            d * strides_[3])];
  }
  void store(const TensorView& to) const {
    if (to.empty()) return;
    Index size[kMaxRank] = {1, 1, 1, 1}, stride[kMaxRank] = {0, 0, 0, 0};
    for (int axis = 0; axis < to.rank(); ++axis) {
      size[kMaxRank - to.rank() + axis] = to.dim(axis);
      stride[kMaxRank - to.rank() + axis] = to.stride(axis);
    }
    const TensorView four(to.data(), to.dtype(), {size[0], size[1], size[2], size[3]},
                          {stride[0], stride[1], stride[2], stride[3]});
    auto next = values_.begin();
    for (Index a = 0; a < size[0]; ++a)
      for (Index b = 0; b < size[1]; ++b)
        for (Index c = 0; c < size[2]; ++c)
          for (Index d = 0; d < size[3]; ++d) four.set(a, b, c, d, *next++);
  }

 private:
  std::vector<double> values_;
  Index strides_[kMaxRank] = {0, 0, 0, 0};
};

// Derivative of the score with respect to scale·q·k: below one under a softcap.
double cap_slope(const Problem& p, const Sequence& s, Index h, Index i, Index j) {
  const double cap = p.options->softcap;
  if (cap == 0) return 1;
  const double bent = std::tanh(match(p, s, h, i, j) / cap);
  return 1 - bent * bent;
}

}  // namespace

// [backward]
void attention_backward(const AttentionSaved& saved, ConstTensorView dout, const AttentionOptions& options,
                        const AttentionGrads& grads) {
  const DefaultFloatMode float_mode;
  const Problem p = check_call("attention_backward", saved.q, saved.k, saved.v, options);
  check_backward("attention_backward", p, saved, dout, grads);
  Totals dq(p.q.shape()), dk(p.k.shape()), dv(p.v.shape());
  Totals dbias(grads.dbias.shape()), dsinks(options.sinks.shape());
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h) {
      const Index kv = h / p.group, b = s.batch;
      for (Index i = 0; i < s.q_rows; ++i) {
        const Index query = s.q_start + i;
        const Row row = softmax_row(p, s, h, i);
        if (row.keys.empty()) continue;  // sees no key: no gradient

        // 1. The weights of a row sum to one, so they cannot all grow together: the common part of their
        // gradients, dout·out, is subtracted below.
        double common = 0;
        for (Index d = 0; d < p.value_dim; ++d)
          common += dout.at(b, h, query, d) * saved.out.at(b, h, query, d);

        // Weights are exp(score - lse), because lse may cover further keys. If lse is too large for that, as
        // with a bias of -1e38, the weights of this row alone are used.
        const double lse = saved.lse.at(b, h, query);
        const double unit = saved.lse.dtype() == DType::f64 ? 0x1p-53 : 0x1p-24;
        const bool own =
            std::abs(lse) * unit > 0x1p-14 && std::abs(row.lse - lse) < 16 * unit * std::abs(lse);
        for (const Seen& seen : row.keys) {
          const Index key = s.k_start + seen.key;
          const double weight = own ? seen.weight : std::exp(seen.score - lse);

          // 2. out = Σ weight·kept·v, so dv is weight·kept·dout, and dweight is kept·dout·v.
          double dweight = 0;
          for (Index d = 0; d < p.value_dim; ++d) {
            const double g = dout.at(b, h, query, d);
            dv.at(b, kv, key, d) += weight * seen.kept * g;
            dweight += seen.kept * g * p.v.at(b, kv, key, d);
          }

          // 3. Back through the softmax, the bias, the cap, and the product of query and key.
          const double dscore = weight * (dweight - common);
          if (dbias.wanted()) dbias.at(s.item, h, i, seen.key) += dscore;
          const double dmatch = p.scale * cap_slope(p, s, h, i, seen.key) * dscore;
          for (Index d = 0; d < p.dim; ++d) {
            dq.at(b, h, query, d) += dmatch * p.k.at(b, kv, key, d);
            dk.at(b, kv, key, d) += dmatch * p.q.at(b, h, query, d);
          }
        }
        // 4. The sink has a weight and no value.
        if (options.sinks.empty()) continue;
        const double weight = own ? row.sink_weight : std::exp(options.sinks.at(h) - lse);
        dsinks.at(0, 0, 0, h) -= weight * common;
      }
    }
  }
  dq.store(grads.dq);
  dk.store(grads.dk);
  dv.store(grads.dv);
  dbias.store(grads.dbias);
  dsinks.store(grads.dsinks);
}
// [/backward]

}  // namespace headlight::reference
