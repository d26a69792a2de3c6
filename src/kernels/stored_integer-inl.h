// Products with blocks of q8_0 in integers: a row of x is rounded to 16 bits, with a factor for each block of 32,
// so that one instruction does two multiplications and an addition, and only the sum of a block is converted to a
// float. The rounding error is 2^-16 of the block's largest number; that of the parameters is 2^-8.

#if defined(HEADLIGHT_KERNELS_STORED_INTEGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_STORED_INTEGER_INL_H_
#undef HEADLIGHT_KERNELS_STORED_INTEGER_INL_H_
#else
#define HEADLIGHT_KERNELS_STORED_INTEGER_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "headlight/stored_matrix.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using SumVec = hn::Vec<hn::ScalableTag<float>>;

// A rounded row of x: `depth` numbers, then the factor of each block. 2 1/8 bytes per number, in memory for one float each.
struct RoundedRow {
  const std::int16_t* numbers = nullptr;
  const float* factors = nullptr;
  RoundedRow() = default;
  HWY_INLINE RoundedRow(const float* arranged, Index depth)
      : numbers(reinterpret_cast<const std::int16_t*>(arranged)),
        factors(reinterpret_cast<const float*>(numbers + depth)) {}
};

// A number that is not finite makes its block's factor NaN, and so every sum with this block.
HWY_ATTR inline void round_row(const float* x, Index depth, float* to) {
  constexpr float kLargest = 32767, kSmallest = 1e-30F;  // below, 1 / x would be infinite
  auto* numbers = reinterpret_cast<std::int16_t*>(to);
  auto* factors = reinterpret_cast<float*>(numbers + depth);
  for (Index k = 0; k < depth; k += kQ8Columns, ++factors) {
    float largest = kSmallest, poison = 0;
    for (Index i = k; i < k + kQ8Columns; ++i) {
      largest = std::max(largest, std::abs(x[i]));
      poison += x[i] * 0;
    }
    const float inverse = poison == 0 ? kLargest / largest : 0;
    for (Index i = k; i < k + kQ8Columns; ++i)
      numbers[i] = poison == 0 ? static_cast<std::int16_t>(std::nearbyint(x[i] * inverse)) : std::int16_t{0};
    *factors = largest / kLargest + poison;
  }
}

// Products of the factors of some blocks with those of x, in memory: from there they reach all lanes of a register without a shuffle.
template <int kCount>
HWY_INLINE void multiply_factors(const float* w, const float* x, float* to) {
  const hn::CappedTag<float, kCount> d;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; i += static_cast<int>(hn::Lanes(d)))
    hn::StoreU(hn::Mul(hn::LoadU(d, w + i), hn::LoadU(d, x + i)), d, to + i);
}

// The sum of a block's products, some in each lane. Exact: 32 products of 8 and 16 bits stay below 2^28.
HWY_INLINE SumVec block_products(const std::byte* block, const std::int16_t* x) {
  const hn::ScalableTag<float> d;
  const auto* w = reinterpret_cast<const std::int8_t*>(block);
#if HWY_TARGET == HWY_SCALAR
  std::int32_t sum = 0;
  for (Index i = 0; i < kQ8Columns; ++i) sum += std::int32_t{w[i]} * x[i];
  return hn::Set(d, static_cast<float>(sum));
#else
  const hn::ScalableTag<std::int16_t> d16;
  const hn::ScalableTag<std::int32_t> d32;
  const hn::Rebind<std::int8_t, hn::ScalableTag<std::int16_t>> d8;
  auto sum = hn::Zero(d32), more = hn::Zero(d32);
#pragma GCC unroll 4
  for (Index i = 0; i < kQ8Columns; i += static_cast<Index>(hn::Lanes(d16)))
    sum = hn::ReorderWidenMulAccumulate(d32, hn::PromoteTo(d16, hn::LoadU(d8, w + i)), hn::LoadU(d16, x + i),
                                        sum, more);
  return hn::ConvertTo(d, hn::Add(sum, more));
#endif
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
