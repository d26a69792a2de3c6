// exp2 and tanh for whole vectors, per SIMD target.

#if defined(HEADLIGHT_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_MATH_INL_H_
#undef HEADLIGHT_KERNELS_MATH_INL_H_
#else
#define HEADLIGHT_KERNELS_MATH_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// max(low, x), but NaN where x is NaN. x86 returns the second operand when either is NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_least(D d, double low, V x) {
  const V bound = hn::Set(d, static_cast<hn::TFromD<D>>(low));
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(bound, x);
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}

// 2^x for x <= 0: within 1 ULP where the result is at least 2^-126.5 (a denormal at its low end), 0
// below, exactly 1 for 0 and exactly 0 for -inf; NaN stays NaN. tests/kernels/exp2_exhaustive.cc
// tries all floats. x = n + r with |r| <= 1/2; adding `magic` leaves n plus the
// exponent bias in the low bits of the sum, ready to be shifted into place. n = -bias makes a factor
// of zero, so that underflow and -inf give 0 without a branch.
template <class D, class V = hn::Vec<D>>
requires(sizeof(hn::TFromD<D>) == 4) HWY_INLINE V exp2(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, 12582912.0f + 127.0f);
  x = at_least(d, -127.0, x);
  const V shifted = hn::Add(x, magic);
  const V r = hn::Sub(x, hn::Sub(shifted, magic));
  V p = hn::Set(d, 1.532646274e-04f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.339080627e-03f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.618505836e-03f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.550359935e-02f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.402264774e-01f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.931471825e-01f));
#if HWY_NATIVE_FMA
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
#else
  // Without fused multiply-add, the last step alone would exceed 1 ULP: add the rounding errors of the
  // product and the sum.
  const V high_bits = hn::BitCast(d, hn::Set(du, 0xFFFFF000U));
  const V one = hn::Set(d, 1.0f), product = hn::Mul(p, r);
  const V rh = hn::And(r, high_bits), rl = hn::Sub(r, rh), ph = hn::And(p, high_bits), pl = hn::Sub(p, ph);
  const V lost = hn::Add(
      hn::Add(hn::Add(hn::Sub(hn::Mul(rh, ph), product), hn::Mul(rh, pl)), hn::Mul(rl, ph)), hn::Mul(rl, pl));
  const V sum = hn::Add(one, product);
  p = hn::Add(sum, hn::Add(hn::Add(hn::Sub(one, sum), product), lost));
#endif
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
}

template <class D, class V = hn::Vec<D>>
requires(sizeof(hn::TFromD<D>) == 8) HWY_INLINE V exp2(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, 6755399441055744.0 + 1023.0);
  x = at_least(d, -1023.0, x);
  const V shifted = hn::Add(x, magic);
  const V r = hn::Sub(x, hn::Sub(shifted, magic));
  // ln(2)^k / k!: the next term is below 2^-57 for |r| <= 1/2.
  static constexpr double kTerms[] = {1.36914888539041241e-12, 2.56784359934881958e-11,
                                      4.44553827187081007e-10, 7.05491162080112088e-09,
                                      1.01780860092396960e-07, 1.32154867901443053e-06,
                                      1.52527338040598377e-05, 1.54035303933816061e-04,
                                      1.33335581464284411e-03, 9.61812910762847688e-03,
                                      5.55041086648215762e-02, 2.40226506959100694e-01,
                                      6.93147180559945286e-01, 1.0};
  V p = hn::Set(d, kTerms[0]);
  for (int k = 1; k < 14; ++k) p = hn::MulAdd(p, r, hn::Set(d, kTerms[k]));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, shifted))));
}

// tanh, to a few ULP. Near zero the quotient of exponentials would lose its leading digits.
template <class D, class V = hn::Vec<D>>
requires(sizeof(hn::TFromD<D>) == 4) HWY_INLINE V tanh(D d, V x) {
  const V one = hn::Set(d, 1.0f), a = hn::Abs(x);
  const V e = exp2(d, hn::Mul(a, hn::Set(d, -2.885390082f)));
  const V far = hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, -5.704986222e-03f);
  p = hn::MulAdd(p, z, hn::Set(d, 2.063908642e-02f));
  p = hn::MulAdd(p, z, hn::Set(d, -5.373971478e-02f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.333144219e-01f));
  p = hn::MulAdd(p, z, hn::Set(d, -3.333328194e-01f));
  const V near = hn::MulAdd(hn::Mul(p, z), x, x);
  return hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.625f)), near, far);
}

// float64 softcap is for gradient checks, not for speed: the library's own tanh, lane by lane.
template <class D, class V = hn::Vec<D>>
requires(sizeof(hn::TFromD<D>) == 8) HWY_INLINE V tanh(D d, V x) {
  HWY_ALIGN double lanes[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = std::tanh(lanes[i]);
  return hn::Load(d, lanes);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
