#include "draw/png_resolution.h"

#include <cmath>
#include <cstdint>

namespace headlight::draw {
namespace {

constexpr std::size_t kHeaderEnd = 8 + 4 + 4 + 13 + 4;  // signature, then the chunk IHDR

void append_number(std::string& out, std::uint32_t x) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(x >> shift & 0xFFU);
}

std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? crc >> 1 ^ 0xEDB88320U : crc >> 1;
  }
  return ~crc;
}

}  // namespace

std::string with_resolution(std::string png, double dpi) {
  const auto per_metre = static_cast<std::uint32_t>(std::lround(dpi / 0.0254));
  std::string body = "pHYs";
  append_number(body, per_metre);
  append_number(body, per_metre);
  body += '\x01';  // the unit is the metre
  std::string chunk;
  append_number(chunk, static_cast<std::uint32_t>(body.size() - 4));
  chunk += body;
  append_number(chunk, crc32(body));
  return png.insert(kHeaderEnd, chunk);
}

}  // namespace headlight::draw
