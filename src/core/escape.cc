#include "core/escape.h"

#include <cstdint>

namespace headlight {
namespace {

constexpr std::string_view kEllipsis = "…";

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(character[i]); };
  if (character.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6) | (byte(i) & 0x3FU);
  return code;
}

// Characters that move the cursor, end the line or turn the reading direction.
bool is_steering(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F || code == 0x61C ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

void append_hex(std::string& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    out += {'\\', 'x', digits[byte >> 4], digits[byte & 15U]};
  }
}

// Cuts between characters, so that UTF-8 stays UTF-8.
std::string without_middle(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const auto is_inside = [&](std::size_t i) { return (static_cast<std::uint8_t>(text[i]) & 0xC0U) == 0x80U; };
  const std::size_t kept = limit > kEllipsis.size() ? limit - kEllipsis.size() : 0;
  std::size_t head = kept / 2, tail = text.size() - (kept - head);
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return text.substr(0, head) + std::string(kEllipsis) + text.substr(tail);
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const auto lead = static_cast<std::uint8_t>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<std::uint8_t>(text[i]) & 0xC0U) != 0x80U) return 0;
  }
  const std::uint32_t code = code_point(text.substr(0, length));
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

std::string escaped(std::string_view text, std::size_t limit) {
  std::string out;
  // The middle of a long text is dropped anyway: do not escape megabytes of it.
  std::string shortened;
  if (text.size() > 8 * limit + 64) {
    shortened = std::string(text.substr(0, 4 * limit)) + std::string(kEllipsis) +
                std::string(text.substr(text.size() - 4 * limit));
    text = shortened;
  }
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    if (character == "\n") out += "\\n";
    else if (character == "\t") out += "\\t";
    else if (character == "\r") out += "\\r";
    else if (length == 0 || is_steering(code_point(character))) append_hex(out, character);
    else out += character;
  }
  return without_middle(out, limit);
}

}  // namespace headlight
