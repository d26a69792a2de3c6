// See small_call.h. Every step is the arithmetic of attention_tile.cc for a strip that sees one vector of keys.
#include "kernels/small_call.h"

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/small_call.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/math-inl.h"
#include "kernels/tile_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// p = exp2(s - max) of one row, and its sum; hidden keys have 0.
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> weigh_small_row(SmallCall<T>& call, int r, const T* columns) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const T* q = call.q + r * call.q_stride;
  auto s = hn::Zero(d);
  for (int x = 0; x < call.dim; ++x)
    s = hn::MulAdd(hn::Set(d, q[x] * call.factor), hn::Load(d, columns + x * lanes), s);
  const auto hidden = hn::Set(d, kHidden<T>), at = hn::Iota(d, T{0});
  const auto seen = hn::And(hn::Ge(at, hn::Set(d, static_cast<T>(call.begin[r]))),
                            hn::Lt(at, hn::Set(d, static_cast<T>(call.end[r]))));
  s = hn::IfThenElse(seen, s, hidden);
  const auto top = hn::Set(d, hn::GetLane(hn::MaxOfLanes(d, s)));
  const auto p = exp2(d, hn::Sub(s, hn::IfThenZeroElse(hn::Eq(top, hidden), top)));
  call.max[r] = hn::GetLane(top);
  call.sum[r] = hn::GetLane(hn::SumOfLanes(d, p));
  return p;
}

template <class T>
HWY_ATTR bool run_small(SmallCall<T>& call) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  constexpr int kMost = HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T columns[SmallCall<T>::kDim * kMost];  // [dim][lanes]: keys, and zeros
  HWY_ALIGN T values[kMost * (SmallCall<T>::kDim + kMost)];
  HWY_ALIGN T weights[kMost], result[SmallCall<T>::kDim + kMost];
  const int width = (call.value_dim + lanes - 1) / lanes * lanes;
  for (int x = 0; x < call.dim; ++x) hn::Store(hn::Zero(d), d, columns + x * lanes);
  for (int j = 0; j < call.keys; ++j) {
    for (int x = 0; x < call.dim; ++x) columns[x * lanes + j] = call.k[j * call.k_stride + x];
    hn::Store(hn::Zero(d), d, values + (j + 1) * width - lanes);  // lanes of the last vector without a column
    for (int x = 0; x < call.value_dim; ++x) values[j * width + x] = call.v[j * call.v_stride + x];
  }
  auto worst = hn::Zero(d);
  for (int r = 0; r < call.rows; ++r) {
    hn::Store(weigh_small_row(call, r, columns), d, weights);
    const double sum = static_cast<double>(call.sum[r]);
    const auto factor = hn::Set(d, sum == 0 ? T{0} : static_cast<T>(1 / sum));
    for (int x = 0; x < width; x += lanes) {
      auto acc = hn::Zero(d);
      for (int j = 0; j < call.keys; ++j)
        acc = hn::MulAdd(hn::Set(d, weights[j]), hn::Load(d, values + j * width + x), acc);
      acc = hn::Add(hn::Mul(acc, factor), hn::Zero(d));
      worst = hn::Add(worst, hn::Sub(acc, acc));
      hn::Store(acc, d, result + x);
    }
    T* out = call.out + r * call.out_stride;
    for (int x = 0; x < call.value_dim; ++x) out[x] = result[x];
  }
  return hn::AllTrue(d, hn::Eq(worst, hn::Zero(d)));
}

template <class T>
SmallKernel<T> small_kernel() {
  return {static_cast<int>(hn::Lanes(hn::ScalableTag<T>())), run_small<T>};
}
SmallTable make_small_table() { return {small_kernel<float>(), small_kernel<double>()}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const SmallTable& small_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_small_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
