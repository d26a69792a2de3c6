#include "io/gguf_blocks.h"

#include <cmath>
#include <cstring>

#include "core/block_formats.h"
#include "headlight/tensor.h"

namespace headlight::io {
namespace {

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void f32(const std::byte* b, float* y) { *y = fetch<float>(b); }
void f16(const std::byte* b, float* y) { *y = to_float(fetch<F16>(b)); }
void bf16(const std::byte* b, float* y) { *y = to_float(fetch<BF16>(b)); }
void f64(const std::byte* b, float* y) { *y = static_cast<float>(fetch<double>(b)); }

// The missing numbers (4, 5, 31 to 33, 36 to 38) belong to types that GGUF has removed.
constexpr BlockType kTypes[] = {{"F32", 0, 1, 4, f32},
                                {"F16", 1, 1, 2, f16},
                                {"Q4_0", 2, 32, 18, blocks::q4_0, {0, -1}},
                                {"Q4_1", 3, 32, 20, blocks::q4_1, {0, 2}},
                                {"Q5_0", 6, 32, 22, blocks::q5_0, {0, -1}},
                                {"Q5_1", 7, 32, 24, blocks::q5_1, {0, 2}},
                                {"Q8_0", 8, 32, 34, blocks::q8_0, {0, -1}},
                                {"Q8_1", 9, 32, 36},
                                {"Q2_K", 10, 256, 84, blocks::q2_k, {80, 82}},
                                {"Q3_K", 11, 256, 110, blocks::q3_k, {108, -1}},
                                {"Q4_K", 12, 256, 144, blocks::q4_k, {0, 2}},
                                {"Q5_K", 13, 256, 176, blocks::q5_k, {0, 2}},
                                {"Q6_K", 14, 256, 210, blocks::q6_k, {208, -1}},
                                {"Q8_K", 15, 256, 292, blocks::q8_k},
                                {"IQ2_XXS", 16, 256, 66, blocks::iq2_xxs, {0, -1}},
                                {"IQ2_XS", 17, 256, 74, blocks::iq2_xs, {0, -1}},
                                {"IQ3_XXS", 18, 256, 98, blocks::iq3_xxs, {0, -1}},
                                {"IQ1_S", 19, 256, 50, blocks::iq1_s, {0, -1}},
                                {"IQ4_NL", 20, 32, 18, blocks::iq4_nl, {0, -1}},
                                {"IQ3_S", 21, 256, 110, blocks::iq3_s, {0, -1}},
                                {"IQ2_S", 22, 256, 82, blocks::iq2_s, {0, -1}},
                                {"IQ4_XS", 23, 256, 136, blocks::iq4_xs, {0, -1}},
                                {"I8", 24, 1, 1},
                                {"I16", 25, 1, 2},
                                {"I32", 26, 1, 4},
                                {"I64", 27, 1, 8},
                                {"F64", 28, 1, 8, f64},
                                {"IQ1_M", 29, 256, 56, blocks::iq1_m},
                                {"BF16", 30, 1, 2, bf16},
                                {"TQ1_0", 34, 256, 54, blocks::tq1_0, {52, -1}},
                                {"TQ2_0", 35, 256, 66, blocks::tq2_0, {64, -1}},
                                {"MXFP4", 39, 32, 17, blocks::mxfp4},
                                {"NVFP4", 40, 64, 36, blocks::nvfp4},
                                {"Q1_0", 41, 128, 18, blocks::q1_0, {0, -1}},
                                {"Q2_0", 42, 64, 18, blocks::q2_0, {0, -1}}};

}  // namespace

const BlockType* find_block_type(std::uint32_t id) noexcept {
  for (const BlockType& type : kTypes)
    if (type.id == id) return &type;
  return nullptr;
}

const BlockType* find_block_type(std::string_view name) noexcept {
  for (const BlockType& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

std::string names_of_loading_types() {
  std::string names;
  for (const BlockType& type : kTypes)
    if (type.loads()) names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

bool has_bad_scale(const BlockType& type, std::span<const std::byte> bytes) {
  constexpr std::uint16_t kF16Exponent = 0x7C00;
  const std::string_view name = type.name;
  for (std::size_t at = 0; at + type.bytes <= bytes.size(); at += type.bytes) {
    const std::byte* block = bytes.data() + at;
    for (const int place : type.scales)
      if (place >= 0 && (fetch<std::uint16_t>(block + place) & kF16Exponent) == kF16Exponent) return true;
    if (name == "MXFP4" && block[0] == std::byte{0xFF}) return true;
    for (int i = 0; name == "NVFP4" && i < 4; ++i)
      if (block[i] == std::byte{0x7F}) return true;
    if (name == "Q8_K" && !std::isfinite(fetch<float>(block))) return true;
  }
  return false;
}

void dequantize(const BlockType& type, std::span<const std::byte> bytes, float* to) {
  for (std::size_t at = 0; at + type.bytes <= bytes.size(); at += type.bytes, to += type.elements)
    type.floats(bytes.data() + at, to);
}

}  // namespace headlight::io
