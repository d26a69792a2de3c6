// Element kernels, compiled once per SIMD target. See elementwise.h.
#include "kernels/elementwise.h"

#include "kernels/kernels.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/curves-inl.h"
#include "kernels/dropout-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_ATTR void add(const T* a, const T* b, T* y, Index n) {
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  });
}

template <class T>
HWY_ATTR void scaled(T factor, const T* a, const T* b, T* y, Index n) {
  if (b == nullptr) {
    for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::Set(d, factor), hn::LoadU(d, a + i)), d, y + i);
    });
    return;
  }
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  });
}

template <class T>
HWY_ATTR void multiply(const T* a, const T* b, T* y, Index n) {
  for_each_vector<T>(n, [&](auto d, Index i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  });
}

template <class T>
HWY_ATTR void sum_rows(const T* x, Index stride, Index rows, Index n, T* sums) {
  for (Index r = 0; r < rows; ++r) add(sums, x + r * stride, sums, n);
}

// Curves take long to compile. float64 is for gradient checks, not for speed: one element at a time.
template <class T, class F>
HWY_INLINE void for_each_on_curve(Index n, const F& f) {
  if constexpr (sizeof(T) == 4) {
    for_each_vector<T>(n, f);
  } else {
    for (Index i = 0; i < n; ++i) f(hn::CappedTag<T, 1>(), i);
  }
}

template <Curve kCurve, class T>
HWY_ATTR void apply_curve(const CurveRows<T>& rows) {
  for (Index r = 0; r < rows.rows; ++r) {
    const T* x = rows.x + r * rows.x_stride;
    T* y = rows.y + r * rows.y_stride;
    for_each_on_curve<T>(rows.columns, [&](auto d, Index i) HWY_ATTR {
      hn::Vec<decltype(d)> slope;
      hn::StoreU(curve_at<kCurve>(d, hn::LoadU(d, x + i), slope), d, y + i);
    });
  }
}

template <Curve kCurve, class T>
HWY_ATTR void pull_back_curve(const CurveBackRows<T>& rows) {
  for (Index r = 0; r < rows.rows; ++r) {
    const T *x = rows.x + r * rows.x_stride, *dy = rows.dy + r * rows.dy_stride;
    T* dx = rows.dx + r * rows.dx_stride;
    for_each_on_curve<T>(rows.columns, [&](auto d, Index i) HWY_ATTR {
      hn::Vec<decltype(d)> slope;
      (void)curve_at<kCurve>(d, hn::LoadU(d, x + i), slope);
      const auto g = hn::Mul(hn::LoadU(d, dy + i), slope);
      hn::StoreU(g, d, dx + i);
      if (rows.sums != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, rows.sums + i), g), d, rows.sums + i);
    });
  }
}

template <Curve kCurve, class T>
HWY_ATTR void gate_curve(const GateRows<T>& rows) {
  for (Index r = 0; r < rows.rows; ++r) {
    const T *gate = rows.gate + r * rows.x_stride, *up = rows.up + r * rows.x_stride;
    T* y = rows.y + r * rows.y_stride;
    for_each_on_curve<T>(rows.columns, [&](auto d, Index i) HWY_ATTR {
      hn::Vec<decltype(d)> slope;
      const auto value = curve_at<kCurve>(d, hn::LoadU(d, gate + i), slope);
      hn::StoreU(hn::Mul(value, hn::LoadU(d, up + i)), d, y + i);
    });
  }
}

template <Curve kCurve, class T>
HWY_ATTR void gate_back_curve(const GateBackRows<T>& rows) {
  for (Index r = 0; r < rows.rows; ++r) {
    const T *gate = rows.gate + r * rows.x_stride, *up = rows.up + r * rows.x_stride;
    const T* dy = rows.dy + r * rows.dy_stride;
    T *dgate = rows.dgate + r * rows.dx_stride, *dup = rows.dup + r * rows.dx_stride;
    for_each_on_curve<T>(rows.columns, [&](auto d, Index i) HWY_ATTR {
      hn::Vec<decltype(d)> slope;
      const auto value = curve_at<kCurve>(d, hn::LoadU(d, gate + i), slope);
      const auto g = hn::LoadU(d, dy + i), u = hn::LoadU(d, up + i);
      hn::StoreU(hn::Mul(hn::Mul(g, u), slope), d, dgate + i);
      hn::StoreU(hn::Mul(g, value), d, dup + i);
    });
  }
}

// One instance of `f` per curve, chosen once per call.
template <class F>
HWY_INLINE void with_curve(Curve curve, const F& f) {
  switch (curve) {
    case Curve::relu: return f.template operator()<Curve::relu>();
    case Curve::gelu: return f.template operator()<Curve::gelu>();
    case Curve::gelu_tanh: return f.template operator()<Curve::gelu_tanh>();
    case Curve::silu: return f.template operator()<Curve::silu>();
    case Curve::tanh: return f.template operator()<Curve::tanh>();
    case Curve::sigmoid: return f.template operator()<Curve::sigmoid>();
  }
}

template <class T>
HWY_ATTR void apply(Curve curve, const CurveRows<T>& rows) {
  with_curve(curve, [&]<Curve kCurve>() HWY_ATTR { apply_curve<kCurve>(rows); });
}
template <class T>
HWY_ATTR void pull_back(Curve curve, const CurveBackRows<T>& rows) {
  with_curve(curve, [&]<Curve kCurve>() HWY_ATTR { pull_back_curve<kCurve>(rows); });
}
template <class T>
HWY_ATTR void gate(Curve curve, const GateRows<T>& rows) {
  with_curve(curve, [&]<Curve kCurve>() HWY_ATTR { gate_curve<kCurve>(rows); });
}
template <class T>
HWY_ATTR void gate_back(Curve curve, const GateBackRows<T>& rows) {
  with_curve(curve, [&]<Curve kCurve>() HWY_ATTR { gate_back_curve<kCurve>(rows); });
}

template <class T>
HWY_ATTR void drop_row(const DropoutKey& key, T factor, Index row, const T* x, const T* add, T* y, Index n) {
  HWY_ALIGN std::uint32_t words[kDropoutRoom];
  for (Index first = 0; first < n; first += kMaxTileKeys) {
    const int count = static_cast<int>(HWY_MIN(n - first, Index{kMaxTileKeys}));
    dropout_words(key, 0, 0, row, first, count, words);
    for (int i = 0; i < count; ++i) {
      const T kept = words[i] >= key.threshold ? x[first + i] * factor : T{0};
      y[first + i] = add == nullptr ? kept : add[first + i] + kept;
    }
  }
}

template <class T>
HWY_ATTR void rotate(const Rotation<T>& rotation, const T* x, T* y) {
  const Index half = rotation.half;
  if (rotation.interleaved) {
    const T sign = rotation.backward ? T{-1} : T{1};
    for (Index j = 0; j < half; ++j) {
      const T a = x[2 * j], b = x[2 * j + 1], c = rotation.cos[j], s = sign * rotation.sin[j];
      y[2 * j] = a * c - b * s;
      y[2 * j + 1] = a * s + b * c;
    }
    return;
  }
  for_each_vector<T>(half, [&](auto d, Index j) HWY_ATTR {
    const auto a = hn::LoadU(d, x + j), b = hn::LoadU(d, x + half + j);
    const auto c = hn::LoadU(d, rotation.cos + j), up = hn::LoadU(d, rotation.sin + j);
    const auto s = rotation.backward ? hn::Neg(up) : up;
    hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), d, y + j);
    hn::StoreU(hn::Add(hn::Mul(a, s), hn::Mul(b, c)), d, y + half + j);
  });
}

template <class T>
ElementKernels<T> element_kernels() {
  return {add<T>,       scaled<T>, multiply<T>,  sum_rows<T>, apply<T>,
          pull_back<T>, gate<T>,   gate_back<T>, drop_row<T>, rotate<T>};
}

ElementTable make_element_table() { return {element_kernels<float>(), element_kernels<double>()}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const ElementTable& element_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_element_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
