// Elements of stored matrices, widened to f32 when they are loaded into a register.

#if defined(HEADLIGHT_KERNELS_STORED_LOAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_STORED_LOAD_INL_H_
#undef HEADLIGHT_KERNELS_STORED_LOAD_INL_H_
#else
#define HEADLIGHT_KERNELS_STORED_LOAD_INL_H_
#endif

#include <type_traits>

#include "headlight/stored_matrix.h"
#include "hwy/highway.h"
#include "kernels/pack-inl.h"
#include "kernels/stored_rows.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <StoredType kType>
using Wide = hn::ScalableTag<float>;
template <StoredType kType>
using WideVec = hn::Vec<Wide<kType>>;

// Bytes that `n` elements take, without factors; of q8_0 within one block.
template <StoredType kType>
constexpr Index stored_bytes(Index n) {
  return kType == StoredType::f32 ? 4 * n : kType == StoredType::f16 || kType == StoredType::bf16 ? 2 * n : n;
}

// The address of element `i` of a row; of q8_0 the address of its block.
template <StoredType kType>
constexpr Index place_of(Index i) {
  return kType == StoredType::q8_0 ? i / kQ8Columns * kQ8Bytes : stored_bytes<kType>(i);
}

// A whole vector. Of int8 and q8_0 the numbers, not yet multiplied by their factor.
template <StoredType kType>
HWY_INLINE WideVec<kType> load_vector(const std::byte* from) {
  const Wide<kType> d;
  if constexpr (kType == StoredType::f32) {
    return hn::LoadU(d, reinterpret_cast<const float*>(from));
  } else if constexpr (kType == StoredType::bf16) {
    const hn::RebindToUnsigned<Wide<kType>> du;
    const hn::Rebind<std::uint16_t, Wide<kType>> dh;
    const auto bits = hn::LoadU(dh, reinterpret_cast<const std::uint16_t*>(from));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
  } else if constexpr (kType == StoredType::f16) {
#if HWY_TARGET == HWY_AVX3
    return WideVec<kType>{_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
#elif HEADLIGHT_F16C
    return WideVec<kType>{_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
#else
    HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float)];
    widen_row_f16(reinterpret_cast<const std::uint16_t*>(from), static_cast<int>(hn::Lanes(d)), wide);
    return hn::Load(d, wide);
#endif
  } else {
    const hn::RebindToSigned<Wide<kType>> di;
    const hn::Rebind<std::int8_t, Wide<kType>> db;
    return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(db, reinterpret_cast<const std::int8_t*>(from))));
  }
}

// The first `n` elements of a vector, zeros after them: nothing beyond them is read.
template <StoredType kType>
HWY_INLINE WideVec<kType> load_part(const std::byte* from, Index n) {
  HWY_ALIGN std::byte part[HWY_MAX_BYTES] = {};
  if (n <= 0 || n > Index{hn::MaxLanes(Wide<kType>())}) return hn::Zero(Wide<kType>());
  std::memcpy(part, from, static_cast<std::size_t>(stored_bytes<kType>(n)));
  return load_vector<kType>(part);
}

// Two vectors at a time. Of bf16 the elements with an even number, then those with an odd one: a shift and a mask
// make floats of them in place, without a shuffle.
template <StoredType kType>
struct WidePair {
  WideVec<kType> first, second;
  HWY_INLINE WidePair() {}  // g++ makes an implicit one without the target's instructions
  HWY_INLINE WidePair(WideVec<kType> a, WideVec<kType> b) : first(a), second(b) {}
};
template <StoredType kType>
HWY_INLINE WidePair<kType> load_pair(const std::byte* from) {
  const Wide<kType> d;
  if constexpr (kType == StoredType::bf16) {
    const hn::RebindToUnsigned<Wide<kType>> du;
    const auto bits = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(from));
    return {hn::BitCast(d, hn::ShiftLeft<16>(bits)), hn::BitCast(d, hn::And(bits, hn::Set(du, 0xFFFF0000U)))};
  } else {
    const Index lanes = static_cast<Index>(hn::Lanes(d));
    return {load_vector<kType>(from), load_vector<kType>(from + stored_bytes<kType>(lanes))};
  }
}
// The first `n` elements of a pair, zeros after them.
template <StoredType kType>
HWY_INLINE WidePair<kType> load_pair_part(const std::byte* from, Index n) {
  HWY_ALIGN std::byte part[2 * HWY_MAX_BYTES] = {};
  if (n > 0 && n <= 2 * Index{hn::MaxLanes(Wide<kType>())})
    std::memcpy(part, from, static_cast<std::size_t>(stored_bytes<kType>(n)));
  return load_pair<kType>(part);
}

// The factors of up to eight blocks of q8_0; `to` has room for eight.
inline constexpr int kFactors = 8;
template <int kCount>
HWY_INLINE void block_factors(const std::byte* blocks, float* to) {
  std::uint16_t bits[kFactors] = {};
  for (int i = 0; i < kCount; ++i) std::memcpy(bits + i, blocks + i * kQ8Bytes, sizeof bits[i]);
#if HEADLIGHT_F16C
  // Assembled in general-purpose registers, because the vector units are busy.
  const auto four = [&](int i) {
    return static_cast<long long>(std::uint64_t{bits[i]} | std::uint64_t{bits[i + 1]} << 16 |
                                  std::uint64_t{bits[i + 2]} << 32 | std::uint64_t{bits[i + 3]} << 48);
  };
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_set_epi64x(four(4), four(0))));
#else
  for (int i = 0; i < kFactors; ++i) to[i] = widen_f16(bits[i]);
#endif
}

// n elements in a row without gaps, times `factor` where the type has one.
template <StoredType kType>
HWY_ATTR void widen_run(const std::byte* from, const WideVec<kType>& scale, Index n, float* to) {
  const Wide<kType> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  constexpr bool kScaled = kType == StoredType::int8 || kType == StoredType::q8_0;
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto x = load_vector<kType>(from + stored_bytes<kType>(i));
    if constexpr (kScaled) x = hn::Mul(x, scale);
    hn::StoreU(x, d, to + i);
  }
  if (i >= n || n - i >= lanes) return;
  auto x = load_part<kType>(from + stored_bytes<kType>(i), n - i);
  if constexpr (kScaled) x = hn::Mul(x, scale);
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, rest);
  std::memcpy(to + i, rest, sizeof(float) * static_cast<std::size_t>(n - i));
}

// Elements [first, first + n) of the first row.
template <StoredType kType>
HWY_ATTR void widen_stored(const StoredRows& w, Index first, Index n, float* to) {
  if constexpr (kType == StoredType::q8_0) {
    const std::byte* block = w.data + place_of<kType>(first);
    for (Index i = 0; i < n; i += kQ8Columns, block += kQ8Bytes) {
      HWY_ALIGN float factor[kFactors];
      block_factors<1>(block, factor);
      widen_run<kType>(block + 2, hn::Set(Wide<kType>(), factor[0]), HWY_MIN(kQ8Columns, n - i), to + i);
    }
  } else {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): int8 always has them
    const auto scale = hn::Set(Wide<kType>(), kType == StoredType::int8 ? *w.scales : 1);
    widen_run<kType>(w.data + stored_bytes<kType>(first), scale, n, to);
  }
}

// f.operator()<type>() for the type of a matrix.
template <class F>
HWY_INLINE void with_stored_type(StoredType type, const F& f) {
  switch (type) {
    case StoredType::f32: return f.template operator()<StoredType::f32>();
    case StoredType::f16: return f.template operator()<StoredType::f16>();
    case StoredType::bf16: return f.template operator()<StoredType::bf16>();
    case StoredType::q8_0: return f.template operator()<StoredType::q8_0>();
    case StoredType::int8: return f.template operator()<StoredType::int8>();
    default: return;  // block_rows.cc
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
