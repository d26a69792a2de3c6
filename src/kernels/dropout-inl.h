// Dropout's random words for a run of keys, many at a time. The same words as core/random.h gives
// one by one.

#if defined(HEADLIGHT_KERNELS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_DROPOUT_INL_H_
#undef HEADLIGHT_KERNELS_DROPOUT_INL_H_
#else
#define HEADLIGHT_KERNELS_DROPOUT_INL_H_
#endif

#include "core/random.h"
#include "kernels/attention_tile.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// High and low halves of x · multiplier, lane by lane.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void multiply_wide(D d, V x, std::uint32_t multiplier, V& high, V& low) {
  const hn::Repartition<std::uint64_t, D> wide;
  const V m = hn::Set(d, multiplier);
  const auto even = hn::MulEven(x, m);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), m);
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
}
#endif

// words[0 … n) for keys first … first+n-1 of one row; `first` is a multiple of 4, and there is room
// for a whole vector of counters more.
HWY_ATTR inline void dropout_words(const DropoutKey& key, Index item, Index head, Index query, Index first,
                                   int n, std::uint32_t* words) {
  const auto q = static_cast<std::uint32_t>(query), h = static_cast<std::uint32_t>(head),
             b = static_cast<std::uint32_t>(item);
  const auto counter = static_cast<std::uint32_t>(first / 4);
#if HWY_TARGET == HWY_SCALAR
  for (int j = 0; j < n; j += 4) {
    const PhiloxCounter out =
        philox({counter + static_cast<std::uint32_t>(j / 4), q, h, b}, key.key0, key.key1);
    for (int w = 0; w < 4; ++w) words[j + w] = out[static_cast<std::size_t>(w)];
  }
#else
  const hn::ScalableTag<std::uint32_t> d;
  using V = hn::Vec<decltype(d)>;
  const int step = 4 * static_cast<int>(hn::Lanes(d));
  for (int j = 0; j < n; j += step) {
    V c0 = hn::Iota(d, counter + static_cast<std::uint32_t>(j / 4)), c1 = hn::Set(d, q), c2 = hn::Set(d, h),
      c3 = hn::Set(d, b);
    std::uint32_t key0 = key.key0, key1 = key.key1;
    for (int round = 0; round < kPhiloxRounds; ++round, key0 += kPhiloxWeyl0, key1 += kPhiloxWeyl1) {
      V high0, low0, high2, low2;
      multiply_wide(d, c0, kPhiloxMultiplier0, high0, low0);
      multiply_wide(d, c2, kPhiloxMultiplier1, high2, low2);
      c0 = hn::Xor(hn::Xor(high2, c1), hn::Set(d, key0));
      c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
      c1 = low2;
      c3 = low0;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, words + j);
  }
#endif
}

// Room for the words of a tile's row, with a whole vector of counters to spare.
inline constexpr int kDropoutRoom = kMaxTileKeys + 4 * 16;

// Sets the weights of row r that are dropped to zero. Scaling the others is left to the caller.
template <class T>
HWY_ATTR void drop(const Tile<T>& tile, int r, int begin, int end, T* row) {
  HWY_ALIGN std::uint32_t words[kDropoutRoom];
  const DropoutRows& rows = tile.dropout;
  const DropoutOrigin& from = rows.key->from;
  const Index at = from.key + tile.first_key + begin;
  const int skip = static_cast<int>(at % 4), count = end - begin;  // a counter makes four words
  dropout_words(*rows.key, from.item + rows.item, from.head + rows.head[r], from.query + rows.query[r],
                at - skip, skip + count, words);
  const std::uint32_t threshold = rows.key->threshold;
  for (int j = 0; j < count; ++j) row[begin + j] = words[skip + j] >= threshold ? row[begin + j] : T{0};
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
