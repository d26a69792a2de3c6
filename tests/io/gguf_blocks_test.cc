// Every block type against ggml's own numbers, bit for bit, and by hand where there are none.
#include "io/gguf_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/error.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "support/gguf_writer.h"
#include "support/shared_data.h"

namespace headlight::io {
namespace {

using testing::raw;

std::vector<float> floats(const BlockType& type, const std::string& block) {
  EXPECT_EQ(block.size(), type.bytes) << type.name;
  std::vector<float> y(type.elements);
  dequantize(type, std::as_bytes(std::span(block)), y.data());
  return y;
}

class QuantizedType : public ::testing::TestWithParam<const char*> {};

TEST_P(QuantizedType, SameBitsAsGgml) {
  const auto shared = testing::shared_data();
  if (!shared) GTEST_SKIP() << "no golden files: set HEADLIGHT_SHARED";
  const Gguf file = Gguf::open((*shared / "golden/gguf/quant-types.gguf").string());
  const Safetensors expected =
      Safetensors::open((*shared / "golden/gguf/quant-types.expected.safetensors").string());
  const std::string name = GetParam();
  const GgufTensor* tensor = nullptr;
  for (const GgufTensor& t : file.tensors())
    if (t.type->name == name) tensor = &t;
  ASSERT_NE(tensor, nullptr);
  const bool plain = name == "F32" || name == "F16";
  const Tensor wanted = expected.load(expected.at(plain ? "original" : "dequant." + name), DType::f32);
  const Tensor found = file.load(*tensor);
  ASSERT_EQ(found.shape(), wanted.shape());
  for (Index i = 0; i < wanted.shape().elements(); ++i) {
    const float want =
        name == "F16" ? to_float(to_f16(static_cast<double>(wanted.as<float>()[i]))) : wanted.as<float>()[i];
    ASSERT_EQ(raw(found.as<float>()[i]), raw(want)) << name << " element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedType,
                         ::testing::Values("F32", "F16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K",
                                           "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"));

TEST(GgufBlocks, Q8KByHand) {
  std::string block = raw(0.5F);
  for (int i = 0; i < 256; ++i) block += raw(static_cast<std::int8_t>(i - 128));
  block += std::string(32, '\x7f');
  const std::vector<float> y = floats(*find_block_type("Q8_K"), block);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(y[static_cast<std::size_t>(i)], 0.5F * static_cast<float>(i - 128));
}

TEST(GgufBlocks, PlainTypesByHand) {
  EXPECT_EQ(floats(*find_block_type("BF16"), raw<std::uint16_t>(0x3FC0))[0], 1.5F);
  EXPECT_EQ(floats(*find_block_type("BF16"), raw<std::uint16_t>(0xC2F7))[0], -123.5F);
  EXPECT_TRUE(std::isnan(floats(*find_block_type("BF16"), raw<std::uint16_t>(0x7FC0))[0]));
  EXPECT_EQ(floats(*find_block_type("F16"), raw<std::uint16_t>(0x3E00))[0], 1.5F);
  EXPECT_EQ(floats(*find_block_type("F16"), raw<std::uint16_t>(0x0001))[0], 0x1p-24F);
  EXPECT_EQ(floats(*find_block_type("F64"), raw(0.1))[0], 0.1F);
}

TEST(GgufBlocks, Table) {
  EXPECT_EQ(find_block_type("q8_0"), nullptr);
  EXPECT_EQ(find_block_type(4U), nullptr);
  EXPECT_EQ(find_block_type(8U), find_block_type("Q8_0"));
  // A block of 0xFF bytes is as good a block as any: no reading outside of it, whatever it holds.
  for (std::uint32_t id = 0; id < 64; ++id) {
    const BlockType* type = find_block_type(id);
    if (type == nullptr || !type->loads()) continue;
    for (const char byte : {'\xFF', '\0', '\x55'}) (void)floats(*type, std::string(type->bytes, byte));
  }
}

}  // namespace
}  // namespace headlight::io
