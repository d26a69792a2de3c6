// Row kernels, compiled once per SIMD target. See row_kernels.h.
#include "kernels/row_kernels.h"

#include <cmath>

#include "kernels/kernels.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/curves-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr double kLog2E = 1.4426950408889634;

// Σ f(tag, i) over a row: four running vectors, added in one order.
template <class T, class F>
HWY_INLINE T sum_row(Index n, const F& f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a, c = a, e = a;
  Index i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, f(d, i));
    b = hn::Add(b, f(d, i + lanes));
    c = hn::Add(c, f(d, i + 2 * lanes));
    e = hn::Add(e, f(d, i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Add(a, f(d, i));
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  const hn::CappedTag<T, 1> one;
  for (; i < n; ++i) sum += hn::GetLane(f(one, i));
  return sum;
}

template <class T>
HWY_ATTR void norm_one(const NormRows<T>& rows, Index r) {
  const Index n = rows.width;
  const T* s = rows.x + r * rows.x_stride;
  if (rows.add != nullptr) {
    const T* add = rows.add + r * rows.add_stride;
    T* sum = rows.sum + r * rows.sum_stride;
    for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, s + i), hn::LoadU(d, add + i)), d, sum + i);
    });
    s = sum;
  }
  const T count = static_cast<T>(n);
  T mean = 0;
  if (rows.centered) {
    mean = sum_row<T>(n, [&](auto d, Index i) HWY_ATTR { return hn::LoadU(d, s + i); }) / count;
    rows.mean[r] = mean;
  }
  const T square = sum_row<T>(n, [&](auto d, Index i) HWY_ATTR {
    const auto x = hn::Sub(hn::LoadU(d, s + i), hn::Set(d, mean));
    return hn::Mul(x, x);
  });
  const T rstd = T{1} / std::sqrt(square / count + rows.eps);
  rows.rstd[r] = rstd;
  T* y = rows.y + r * rows.y_stride;
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    const auto x = hn::Mul(hn::Sub(hn::LoadU(d, s + i), hn::Set(d, mean)), hn::Set(d, rstd));
    const auto w = hn::Add(hn::LoadU(d, rows.weight + i), hn::Set(d, rows.offset));
    const auto b = rows.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, rows.bias + i);
    hn::StoreU(hn::MulAdd(x, w, b), d, y + i);
  });
}

template <class T>
HWY_ATTR void norm(const NormRows<T>& rows) {
  for (Index r = 0; r < rows.rows; ++r) norm_one(rows, r);
}

// With g = dy·weight and h = (x - mean)·rstd:  dx = rstd·(g - mean(g) - h·mean(g·h)); the mean of g
// drops out where nothing was centered.
template <class T>
HWY_ATTR void norm_back_one(const NormBackRows<T>& rows, Index r) {
  const Index n = rows.width;
  const T *x = rows.x + r * rows.x_stride, *dy = rows.dy + r * rows.dy_stride;
  const T mean = rows.centered ? rows.mean[r] : T{0}, rstd = rows.rstd[r];
  const auto h_at = [&](auto d, Index i) HWY_ATTR {
    return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, rstd));
  };
  const auto g_at = [&](auto d, Index i) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, dy + i), hn::Add(hn::LoadU(d, rows.weight + i), hn::Set(d, rows.offset)));
  };
  const T count = static_cast<T>(n);
  const T along =
      sum_row<T>(n, [&](auto d, Index i) HWY_ATTR { return hn::Mul(g_at(d, i), h_at(d, i)); }) / count;
  T level = 0;
  if (rows.centered) level = sum_row<T>(n, [&](auto d, Index i) HWY_ATTR { return g_at(d, i); }) / count;
  const T* add = rows.add == nullptr ? nullptr : rows.add + r * rows.add_stride;
  T* dx = rows.dx + r * rows.dx_stride;
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    const auto h = h_at(d, i), g = g_at(d, i), dy_i = hn::LoadU(d, dy + i);
    const auto rest = hn::NegMulAdd(h, hn::Set(d, along), hn::Sub(g, hn::Set(d, level)));
    const auto base = add == nullptr ? hn::Zero(d) : hn::LoadU(d, add + i);
    hn::StoreU(hn::MulAdd(rest, hn::Set(d, rstd), base), d, dx + i);
    hn::StoreU(hn::MulAdd(dy_i, h, hn::LoadU(d, rows.dweight + i)), d, rows.dweight + i);
    if (rows.dbias != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, rows.dbias + i), dy_i), d, rows.dbias + i);
  });
}

template <class T>
HWY_ATTR void norm_back(const NormBackRows<T>& rows) {
  for (Index r = 0; r < rows.rows; ++r) norm_back_one(rows, r);
}

template <class T>
HWY_ATTR T largest(const T* x, Index n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  auto top = hn::Set(d, x[0]);
  Index i = 0;
  for (; i + lanes <= n; i += lanes) top = hn::Max(top, hn::LoadU(d, x + i));
  T most = hn::GetLane(hn::MaxOfLanes(d, top));
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <class T>
HWY_ATTR void softcap(T cap, T* x, Index n) {
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    const auto t = tanh(d, hn::Div(hn::LoadU(d, x + i), hn::Set(d, cap)));
    hn::StoreU(hn::Mul(t, hn::Set(d, cap)), d, x + i);
  });
}

template <class D, class T>
HWY_INLINE hn::Vec<D> exp_below(D d, const T* x, T top) {
  return exp2(d, hn::Mul(hn::Sub(hn::LoadU(d, x), hn::Set(d, top)), constant(d, kLog2E)));
}

// The gradient under a softcap needs the capped logits themselves: the exponentials are computed again.
template <class T>
HWY_ATTR void capped_gradient(const LossRow<T>& row, T top, T factor, T floor) {
  T* z = row.logits;
  const T inverse = T{1} / row.cap;
  for (Index i = 0; i < row.classes; ++i) {
    const hn::CappedTag<T, 1> one;
    const T t = z[i] * inverse;
    T g = hn::GetLane(exp_below(one, z + i, top)) * factor - floor;
    if (i == row.target) g -= row.scale * (T{1} - row.smoothing);
    z[i] = g * (T{1} - t * t);
  }
}

template <class T>
HWY_ATTR LossValue loss(const LossRow<T>& row) {
  T* z = row.logits;
  const Index n = row.classes;
  if (row.cap > 0) softcap(row.cap, z, n);
  const T top = largest(z, n), at_target = z[row.target];
  // Other results of the logits come first, because the exponentials may overwrite them.
  const T mean =
      row.smoothing > 0
          ? sum_row<T>(n, [&](auto d, Index i) HWY_ATTR { return hn::LoadU(d, z + i); }) / static_cast<T>(n)
          : T{0};
  const bool replace = row.gradient && !(row.cap > 0);
  const T sum = sum_row<T>(n, [&](auto d, Index i) HWY_ATTR {
    const auto e = exp_below(d, z + i, top);
    if (replace) hn::StoreU(e, d, z + i);
    return e;
  });
  const double lse = static_cast<double>(top) + std::log(static_cast<double>(sum));
  LossValue value;
  value.plain = lse - static_cast<double>(at_target);
  value.smoothed = row.smoothing > 0
                       ? (1 - static_cast<double>(row.smoothing)) * value.plain +
                             static_cast<double>(row.smoothing) * (lse - static_cast<double>(mean))
                       : value.plain;
  value.correct = at_target == top;
  if (!row.gradient) return value;
  const T factor = row.scale / sum, floor = row.scale * row.smoothing / static_cast<T>(n);
  if (row.cap > 0) {
    capped_gradient(row, top, factor, floor);
    return value;
  }
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    hn::StoreU(hn::MulSub(hn::LoadU(d, z + i), hn::Set(d, factor), hn::Set(d, floor)), d, z + i);
  });
  z[row.target] -= row.scale * (T{1} - row.smoothing);
  return value;
}

template <class T>
HWY_ATTR void log_softmax(const T* x, T* y, Index n) {
  const T top = largest(x, n);
  const T sum = sum_row<T>(n, [&](auto d, Index i) HWY_ATTR { return exp_below(d, x + i, top); });
  const T lse = top + static_cast<T>(std::log(static_cast<double>(sum)));
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    hn::StoreU(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, lse)), d, y + i);
  });
}

template <class T>
RowKernels<T> row_kernels() {
  return {norm<T>, norm_back<T>, loss<T>, softcap<T>, log_softmax<T>};
}

RowTable make_row_table() { return {row_kernels<float>(), row_kernels<double>()}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const RowTable& row_kernels_for(SimdTarget target) { return HEADLIGHT_TABLE_OF(make_row_table, target); }

}  // namespace headlight::kernels
#endif  // HWY_ONCE
