// Every block type against ggml's own numbers, bit for bit: made-up blocks whose floats, as ggml's C code makes them, have
// these FNV-1a hashes (64 blocks each, ggml of August 2026). And quantised blocks against what they were made of.
#include "core/block_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "core/block_store.h"

namespace headlight::blocks {
namespace {

struct Format {
  const char* name;
  void (*floats)(const std::byte*, float*);
  std::size_t elements, bytes;
  std::vector<std::size_t>
      highs;  // high bytes of f16 scales, from which one exponent bit is taken: none is infinite
  std::uint64_t hash;
};

std::vector<Format> formats() {
  return {{"q4_0", q4_0, 32, 18, {1}, 0x7f68683a1de98892},
          {"q4_1", q4_1, 32, 20, {1, 3}, 0x424b7c2f6b00090d},
          {"q5_0", q5_0, 32, 22, {1}, 0x8f47a7d2da283ddc},
          {"q5_1", q5_1, 32, 24, {1, 3}, 0x9c4a4b743afadeaf},
          {"q8_0", q8_0, 32, 34, {1}, 0x1f0bc7c5c7cc998a},
          {"q2_k", q2_k, 256, 84, {81, 83}, 0x9c9ec53e8360a6b3},
          {"q3_k", q3_k, 256, 110, {109}, 0xa4341fa18706b789},
          {"q4_k", q4_k, 256, 144, {1, 3}, 0x2ea209860315a0bd},
          {"q5_k", q5_k, 256, 176, {1, 3}, 0x86ee68b176182a65},
          {"q6_k", q6_k, 256, 210, {209}, 0x5cc5f66528d45f55},
          {"iq2_xxs", iq2_xxs, 256, 66, {1}, 0xab37ff4d866f6839},
          {"iq2_xs", iq2_xs, 256, 74, {1}, 0x3888d1fee5cf2fca},
          {"iq2_s", iq2_s, 256, 82, {1}, 0x8bf05e1eb3e977bc},
          {"iq3_xxs", iq3_xxs, 256, 98, {1}, 0x8516fbef44def712},
          {"iq3_s", iq3_s, 256, 110, {1}, 0x828069f33e62970a},
          {"iq1_s", iq1_s, 256, 50, {1}, 0x2ce92ea8b6d67a1a},
          {"iq1_m", iq1_m, 256, 56, {}, 0xd5e14c92d2ae7284},
          {"iq4_nl", iq4_nl, 32, 18, {1}, 0x868108bed6929ea6},
          {"iq4_xs", iq4_xs, 256, 136, {1}, 0xa0a99229ff2f2b5e},
          {"tq1_0", tq1_0, 256, 54, {53}, 0xd6dd78daaef64a18},
          {"tq2_0", tq2_0, 256, 66, {65}, 0xffc9bf4e37a08024},
          {"mxfp4", mxfp4, 32, 17, {}, 0x5e63d5a96379ada},
          {"nvfp4", nvfp4, 64, 36, {}, 0x4f6313f1f90bb742},
          {"q1_0", q1_0, 128, 18, {1}, 0xcbea51a64925b2a5},
          {"q2_0", q2_0, 64, 18, {1}, 0x83c895a1ef1de913}};
}

TEST(BlockFormats, SameBitsAsGgml) {
  constexpr std::size_t kBlocks = 64;
  for (const Format& format : formats()) {
    std::vector<std::byte> blocks(kBlocks * format.bytes);
    std::uint64_t state = 7;
    for (std::byte& b : blocks) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      b = static_cast<std::byte>(state >> 56);
    }
    std::vector<float> floats(kBlocks * format.elements);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      std::byte* block = blocks.data() + i * format.bytes;
      for (const std::size_t high : format.highs) block[high] &= std::byte{0xBB};
      if (format.floats == iq1_m) block[55] &= std::byte{0xBF};
      format.floats(block, floats.data() + i * format.elements);
    }
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::byte b : std::as_bytes(std::span(floats)))
      hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3U;
    EXPECT_EQ(hash, format.hash) << format.name;
  }
}

double relative_error(std::span<const float> x, std::span<const float> y) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    difference += d * d, norm += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return std::sqrt(difference / norm);
}

// Of normally distributed numbers, as matrices of models are.
TEST(BlockFormats, QuantisesWithSmallErrors) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.05F);
  std::vector<float> x(256 * 40), y(x.size());
  for (float& v : x) v = normal(random);
  std::vector<std::byte> block(210);
  const auto error_of = [&](auto store, auto load, std::size_t elements) {
    for (std::size_t i = 0; i < x.size(); i += elements) {
      store(std::span<const float>(x).subspan(i, elements), block.data());
      load(block.data(), y.data() + i);
    }
    return relative_error(x, y);
  };
  EXPECT_LT(error_of(to_q8_0, q8_0, 32), 0.006);
  EXPECT_LT(error_of(to_q6_k, q6_k, 256), 0.02);
  EXPECT_LT(error_of(to_q4_k, q4_k, 256), 0.08);
}

TEST(BlockFormats, QuantisesWhatHasNoRange) {
  std::vector<std::byte> block(210);
  std::vector<float> y(256);
  for (const float value : {0.0F, 1.0F, -1.0F, 1e-35F, 1000.0F, -0.25F}) {
    const std::vector<float> x(256, value);
    to_q4_k(x, block.data());
    q4_k(block.data(), y.data());
    for (const float v : y) ASSERT_NEAR(v, value, 0.01F * std::abs(value) + 1e-30F) << value;
    to_q6_k(x, block.data());
    q6_k(block.data(), y.data());
    for (const float v : y) ASSERT_NEAR(v, value, 0.02F * std::abs(value) + 1e-30F) << value;
  }
}

}  // namespace
}  // namespace headlight::blocks
