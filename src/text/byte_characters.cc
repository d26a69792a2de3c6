#include "text/byte_characters.h"

#include <array>

#include "text/unicode.h"

namespace headlight::text {
namespace {

struct Tables {
  std::array<char32_t, 256> characters{};
  std::array<std::int16_t, 324> bytes{};

  constexpr Tables() {
    bytes.fill(-1);
    char32_t next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      characters[byte] = printable ? static_cast<char32_t>(byte) : next++;
      bytes[characters[byte]] = static_cast<std::int16_t>(byte);
    }
  }
};
constexpr Tables kTables;

}  // namespace

char32_t character_of(unsigned char byte) noexcept { return kTables.characters[byte]; }

std::optional<unsigned char> byte_of(char32_t character) noexcept {
  if (character >= kTables.bytes.size() || kTables.bytes[character] < 0) return std::nullopt;
  return static_cast<unsigned char>(kTables.bytes[character]);
}

std::string bytes_to_characters(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 4);
  for (const char byte : bytes) append(text, character_of(static_cast<unsigned char>(byte)));
  return text;
}

std::optional<std::string> characters_to_bytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const auto byte = byte_of(c.code);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    at += c.length;
  }
  return bytes;
}

std::string name_of_byte(unsigned char byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return {'<', '0', 'x', kHex[byte >> 4], kHex[byte & 15], '>'};
}

std::optional<unsigned char> byte_named(std::string_view token) noexcept {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : token.substr(3, 2)) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    else if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    else if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    else return std::nullopt;
    value = 16 * value + digit;
  }
  return static_cast<unsigned char>(value);
}

}  // namespace headlight::text
