// The optimizer's pass, compiled once per SIMD target. See optimizer.h.
#include "kernels/optimizer.h"

#include <cstddef>

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using VF = hn::Vec<F>;

struct AdamVectors {
  VF grad_scale, beta1, rest1, beta2, rest2, keep, rate, root_scale, epsilon, average_keep, average_rest;
};

HWY_ATTR HWY_INLINE AdamVectors broadcast(const AdamNumbers& n) {
  const F d;
  return {hn::Set(d, n.grad_scale),   hn::Set(d, n.beta1),           hn::Set(d, 1 - n.beta1),
          hn::Set(d, n.beta2),        hn::Set(d, 1 - n.beta2),       hn::Set(d, n.keep),
          hn::Set(d, n.rate),         hn::Set(d, n.root_scale),      hn::Set(d, n.epsilon),
          hn::Set(d, n.average_keep), hn::Set(d, 1 - n.average_keep)};
}

struct AdamLanes {
  VF value, m, v;
};

HWY_ATTR HWY_INLINE AdamLanes adam_lanes(const AdamVectors& c, VF value, VF grad, VF m, VF v) {
  const VF g = hn::Mul(grad, c.grad_scale);
  m = hn::MulAdd(c.beta1, m, hn::Mul(c.rest1, g));
  v = hn::MulAdd(c.beta2, v, hn::Mul(hn::Mul(c.rest2, g), g));
  const VF step = hn::Div(hn::Mul(c.rate, m), hn::MulAdd(hn::Sqrt(v), c.root_scale, c.epsilon));
  return {hn::Sub(hn::Mul(value, c.keep), step), m, v};
}

HWY_ATTR void adam(const AdamNumbers& numbers, const AdamPiece& p) {
  const F d;
  const AdamVectors c = broadcast(numbers);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const bool average = p.averaged != nullptr;
  std::int64_t i = 0;
  for (; i + lanes <= p.size; i += lanes) {
    const AdamLanes r = adam_lanes(c, hn::LoadU(d, p.value + i), hn::LoadU(d, p.grad + i),
                                   hn::LoadU(d, p.m + i), hn::LoadU(d, p.v + i));
    hn::StoreU(r.value, d, p.value + i);
    hn::StoreU(r.m, d, p.m + i);
    hn::StoreU(r.v, d, p.v + i);
    hn::StoreU(hn::Zero(d), d, p.grad + i);
    if (average) {
      const VF old = hn::LoadU(d, p.averaged + i);
      hn::StoreU(hn::MulAdd(c.average_keep, old, hn::Mul(c.average_rest, r.value)), d, p.averaged + i);
    }
  }
  if (i == p.size) return;
  // The last few elements, copied to a whole vector, so that they get the same instructions.
  const auto rest = static_cast<std::size_t>(p.size - i);
  HWY_ALIGN float part[5][hn::MaxLanes(F())] = {};
  for (std::size_t k = 0; k < rest; ++k) {
    const auto at = i + static_cast<std::int64_t>(k);
    part[0][k] = p.value[at];
    part[1][k] = p.grad[at];
    part[2][k] = p.m[at];
    part[3][k] = p.v[at];
    part[4][k] = average ? p.averaged[at] : 0;
  }
  const AdamLanes r =
      adam_lanes(c, hn::Load(d, part[0]), hn::Load(d, part[1]), hn::Load(d, part[2]), hn::Load(d, part[3]));
  hn::Store(hn::MulAdd(c.average_keep, hn::Load(d, part[4]), hn::Mul(c.average_rest, r.value)), d, part[4]);
  hn::Store(r.value, d, part[0]);
  hn::Store(r.m, d, part[2]);
  hn::Store(r.v, d, part[3]);
  for (std::size_t k = 0; k < rest; ++k) {
    const auto at = i + static_cast<std::int64_t>(k);
    p.value[at] = part[0][k];
    p.grad[at] = 0;
    p.m[at] = part[2][k];
    p.v[at] = part[3][k];
    if (average) p.averaged[at] = part[4][k];
  }
}

HWY_ATTR double sum_of_squares(const float* x, std::int64_t size) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;  // as many floats as there are doubles in a vector
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= size; i += 2 * lanes) {
    const auto first = hn::PromoteTo(d, hn::LoadU(half, x + i));
    const auto second = hn::PromoteTo(d, hn::LoadU(half, x + i + lanes));
    a = hn::MulAdd(first, first, a);
    b = hn::MulAdd(second, second, b);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < size; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

OptimizerKernels make_optimizer_table() { return {adam, sum_of_squares}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const OptimizerKernels& optimizer_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_optimizer_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
