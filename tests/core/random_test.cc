#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headlight {
namespace {

// The known answers that come with the authors' Random123.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, kOnes, kOnes),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Share of the weights that are kept, with `keep` for each place of a cube of places.
template <class Keep>
double share(const Keep& keep) {
  int kept = 0, all = 0;
  for (int item = 0; item < 3; ++item)
    for (int head = 0; head < 4; ++head)
      for (int query = 0; query < 64; ++query)
        for (int key = 0; key < 128; ++key, ++all) kept += keep(item, head, query, key) ? 1 : 0;
  return static_cast<double>(kept) / all;
}
constexpr double kPlaces = 3 * 4 * 64 * 128;

TEST(DropoutKeys, KeepTheirRate) {
  for (const double rate : {0.0, 0.01, 0.1, 0.5, 0.9, 0.999}) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xFFFFFFFFFFFFFFFF}}) {
      const DropoutKey dropout = DropoutKey::of(rate, seed, 3);
      const double kept = share([&](int b, int h, int i, int j) { return dropout.keeps(b, h, i, j); });
      // Five standard deviations.
      EXPECT_NEAR(kept, 1 - rate, 5 * std::sqrt(rate * (1 - rate) / kPlaces) + 1e-12)
          << rate << " seed " << seed;
    }
  }
  EXPECT_EQ(DropoutKey::of(0, 5, 0).threshold, 0U);
  EXPECT_EQ(DropoutKey::of(0.5, 5, 0).threshold, 0x80000000U);
  EXPECT_EQ(DropoutKey::of(std::nextafter(1.0, 0.0), 5, 0).threshold, 0xFFFFFFFFU);
}

// Two decisions that have nothing to do with each other agree half of the time at rate 1/2.
TEST(DropoutKeys, NeighboursAreIndependent) {
  const DropoutKey one = DropoutKey::of(0.5, 7, 0);
  const double deviation = 5 * std::sqrt(0.25 / kPlaces);
  const auto agreement = [&](const auto& other) {
    return share([&](int b, int h, int i, int j) { return one.keeps(b, h, i, j) == other(b, h, i, j); });
  };
  EXPECT_NEAR(agreement([&](int b, int h, int i, int j) { return one.keeps(b, h, i, j + 1); }), 0.5,
              deviation);
  EXPECT_NEAR(agreement([&](int b, int h, int i, int j) { return one.keeps(b, h, i, j + 4); }), 0.5,
              deviation);
  EXPECT_NEAR(agreement([&](int b, int h, int i, int j) { return one.keeps(b, h, i + 1, j); }), 0.5,
              deviation);
  EXPECT_NEAR(agreement([&](int b, int h, int i, int j) { return one.keeps(b, h + 1, i, j); }), 0.5,
              deviation);
  EXPECT_NEAR(agreement([&](int b, int h, int i, int j) { return one.keeps(b + 1, h, i, j); }), 0.5,
              deviation);
  EXPECT_NEAR(agreement([&](int b, int h, int i, int j) { return one.keeps(h, b, i, j); }), 0.5,
              deviation + 0.15)
      << "item and head are told apart";
  for (const DropoutKey& other : {DropoutKey::of(0.5, 8, 0), DropoutKey::of(0.5, 7, 1),
                                  DropoutKey::of(0.5, 7, 1ULL << 32), DropoutKey::of(0.5, 7ULL << 32, 0)}) {
    EXPECT_NEAR(agreement([&](int b, int h, int i, int j) { return other.keeps(b, h, i, j); }), 0.5,
                deviation);
  }
}

// A place alone decides: whatever is asked before, around or in which order.
TEST(DropoutKeys, OnlyThePlaceDecides) {
  const DropoutKey dropout = DropoutKey::of(0.3, 11, 2), again = DropoutKey::of(0.3, 11, 2);
  std::vector<bool> forwards, backwards;
  for (int i = 0; i < 50; ++i)
    for (int j = 0; j < 50; ++j) forwards.push_back(dropout.keeps(2, 1, i, j));
  for (int i = 49; i >= 0; --i)
    for (int j = 49; j >= 0; --j) backwards.push_back(again.keeps(2, 1, i, j));
  EXPECT_EQ(forwards, std::vector<bool>(backwards.rbegin(), backwards.rend()));
  // The contract in words: word j%4 of the counter (j/4, query, head, item).
  for (int j = 0; j < 16; ++j) {
    const PhiloxCounter words =
        philox({static_cast<std::uint32_t>(j / 4), 9, 1, 2}, dropout.key0, dropout.key1);
    EXPECT_EQ(dropout.keeps(2, 1, 9, j), words[static_cast<std::size_t>(j % 4)] >= dropout.threshold);
  }
  // A larger rate drops what a smaller one drops, and more.
  const DropoutKey more = DropoutKey::of(0.6, 11, 2);
  for (int j = 0; j < 1000; ++j) EXPECT_TRUE(!more.keeps(0, 0, 0, j) || dropout.keeps(0, 0, 0, j));
}

}  // namespace
}  // namespace headlight
