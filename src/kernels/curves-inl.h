// Activation functions and their slopes for whole vectors, per SIMD target.

#if defined(HEADLIGHT_KERNELS_CURVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_CURVES_INL_H_
#undef HEADLIGHT_KERNELS_CURVES_INL_H_
#else
#define HEADLIGHT_KERNELS_CURVES_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"
#include "kernels/elementwise.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double x) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(x));
}

// Calls f(tag, i) for whole vectors, then for the elements that are left.
template <class T, class F>
HWY_INLINE void for_each_vector(Index n, const F& f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  for (; i < n; ++i) f(one, i);
}

// 1/(1 + exp(-x)), without overflow on either side.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = constant(d, 1);
  const V e = exp2(d, hn::Mul(hn::Abs(x), constant(d, -1.4426950408889634)));
  const V q = hn::Div(one, hn::Add(one, e));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(e, q), q);
}

// Φ(x), and in `bell` exp(-x²/2). In f32 the tail is bell · t·P(t) with t = 1/(1 + |x|/4), fitted on
// 0 … 14 to 1.2e-7 of its value: no branch, and the exponential serves the slope as well.
template <class D, class V = hn::Vec<D>>
requires(sizeof(hn::TFromD<D>) == 4) HWY_INLINE V normal_cdf(D d, V x, V& bell) {
  bell = exp2(d, hn::Mul(hn::Mul(x, x), constant(d, -0.7213475204444817)));
  const V one = constant(d, 1);
  const V t = hn::Div(one, hn::MulAdd(hn::Abs(x), constant(d, 0.25), one));
  V p = constant(d, 0.028784735971);
  p = hn::MulAdd(p, t, constant(d, -0.167508097551));
  p = hn::MulAdd(p, t, constant(d, 0.326081635628));
  p = hn::MulAdd(p, t, constant(d, -0.239553376002));
  p = hn::MulAdd(p, t, constant(d, 0.224722430228));
  p = hn::MulAdd(p, t, constant(d, 0.0233047751364));
  p = hn::MulAdd(p, t, constant(d, 0.106168300136));
  p = hn::MulAdd(p, t, constant(d, 0.0981827782146));
  p = hn::MulAdd(p, t, constant(d, 0.0998168106979));
  const V tail = hn::Mul(bell, hn::Mul(p, t));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
}

// float64 is for gradient checks, not for speed.
template <class D, class V = hn::Vec<D>>
requires(sizeof(hn::TFromD<D>) == 8) HWY_INLINE V normal_cdf(D d, V x, V& bell) {
  bell = exp2(d, hn::Mul(hn::Mul(x, x), constant(d, -0.7213475204444817)));
  HWY_ALIGN double lanes[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = 0.5 * std::erfc(-lanes[i] * 0.7071067811865476);
  return hn::Load(d, lanes);
}

// The value of a curve; in `slope` its derivative.
template <Curve kCurve, class D, class V = hn::Vec<D>>
HWY_INLINE V curve_at(D d, V x, V& slope) {
  const V one = constant(d, 1), half = constant(d, 0.5);
  if constexpr (kCurve == Curve::relu) {
    const auto up = hn::Gt(x, hn::Zero(d));
    slope = hn::IfThenElseZero(up, one);
    return hn::IfThenElseZero(hn::Not(hn::Lt(x, hn::Zero(d))), x);  // NaN stays NaN
  } else if constexpr (kCurve == Curve::gelu) {
    V bell;
    const V cdf = normal_cdf(d, x, bell);
    slope = hn::MulAdd(hn::Mul(x, bell), constant(d, 0.3989422804014327), cdf);
    return hn::Mul(x, cdf);
  } else if constexpr (kCurve == Curve::gelu_tanh) {
    const V root = constant(d, 0.7978845608028654), cubic = constant(d, 0.044715);
    const V z = hn::Mul(x, x);
    const V t = tanh(d, hn::Mul(hn::Mul(root, x), hn::MulAdd(cubic, z, one)));
    const V open = hn::Mul(half, hn::Add(one, t));
    const V inner = hn::Mul(root, hn::MulAdd(constant(d, 3 * 0.044715), z, one));
    slope = hn::MulAdd(hn::Mul(hn::Mul(half, x), hn::NegMulAdd(t, t, one)), inner, open);
    return hn::Mul(x, open);
  } else if constexpr (kCurve == Curve::silu) {
    const V s = sigmoid(d, x), y = hn::Mul(x, s);
    slope = hn::MulAdd(y, hn::Sub(one, s), s);
    return y;
  } else if constexpr (kCurve == Curve::tanh) {
    const V t = tanh(d, x);
    slope = hn::NegMulAdd(t, t, one);
    return t;
  } else {
    const V s = sigmoid(d, x);
    slope = hn::Mul(s, hn::Sub(one, s));
    return s;
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
