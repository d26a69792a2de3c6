#include "text/unicode.h"

#include <utf8proc.h>

#include <cstring>
#include <vector>

#include "core/escape.h"

namespace headlight::text {
namespace {

std::uint8_t ask_for_classes(char32_t code) noexcept {
  unsigned classes = 0;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: classes = kLetter; break;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: classes = kNumber; break;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: classes = kPunctuation; break;
    case UTF8PROC_CATEGORY_MN: classes = kMark | kNonspacing; break;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: classes = kMark; break;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF: classes = kControl; break;
    default: break;
  }
  // The property White_Space; general categories do not have it (tab and newline are controls).
  if ((code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xA0 || code == 0x1680 ||
      (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
      code == 0x205F || code == 0x3000)
    classes |= kSpace;
  if (code == '\r' || code == '\n') classes |= kNewline;
  return static_cast<std::uint8_t>(classes);
}

// The first plane as a table: scanners ask once per character.
const std::vector<std::uint8_t>& first_plane() {
  static const std::vector<std::uint8_t> table = [] {
    std::vector<std::uint8_t> classes(0x10000);
    for (char32_t code = 0; code < classes.size(); ++code) classes[code] = ask_for_classes(code);
    return classes;
  }();
  return table;
}

}  // namespace

const std::array<std::uint8_t, 128> kAsciiClasses = [] {
  std::array<std::uint8_t, 128> classes{};
  for (char32_t code = 0; code < classes.size(); ++code) classes[code] = ask_for_classes(code);
  return classes;
}();

std::uint8_t look_up_classes(char32_t code) noexcept {
  static const std::uint8_t* const table = first_plane().data();
  return code < 0x10000 ? table[code] : ask_for_classes(code);
}

bool is_word_character(char32_t code) noexcept {
  if (is_one_of(code, kLetter | kMark)) return true;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_PC;
}

void append(std::string& text, char32_t code) {
  const auto put = [&](char32_t bits) { text += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12));
    put(0x80U | ((code >> 6) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18));
    put(0x80U | ((code >> 12) & 0x3FU));
    put(0x80U | ((code >> 6) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

std::string to_utf8(char32_t code) {
  std::string text;
  append(text, code);
  return text;
}

std::size_t count_characters(std::string_view text) noexcept {
  std::size_t count = 0;
  for (const char byte : text) count += is_continuation(byte) ? 0 : 1;
  return count;
}

bool is_ascii(std::string_view text) noexcept {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080U) != 0) return false;
  }
  for (; at < text.size(); ++at)
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  return true;
}

bool is_well_formed(std::string_view text) noexcept {
  while (!text.empty()) {
    if (text.size() >= 16 && is_ascii(text.substr(0, 16))) {
      text.remove_prefix(16);
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

NextBytes next_bytes(std::string_view text) noexcept {
  if (const std::size_t whole = utf8_length(text); whole > 0) return {whole, true};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0xC2 || first > 0xF4) return {1, false};
  const std::size_t wanted = length_from(text[0]);
  // The second byte's range depends on the first: no overlong forms, no surrogates, nothing past U+10FFFF.
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (text.size() < 2 || byte(1) < low || byte(1) > high) return {1, false};
  std::size_t length = 2;
  while (length < wanted && length < text.size() && is_continuation(text[length])) ++length;
  return {length, false};
}

std::string to_well_formed(std::string_view bytes) {
  if (is_well_formed(bytes)) return std::string(bytes);
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const NextBytes next = next_bytes(bytes);
    if (next.well_formed) text += bytes.substr(0, next.length);
    else append(text, kReplacement);
    bytes.remove_prefix(next.length);
  }
  return text;
}

void append_lowercase(std::string& text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code);
  } else if (code == 0x130) {  // the only character whose lower case is two characters
    text += "i\xCC\x87";
  } else {
    append(text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
  }
}

}  // namespace headlight::text
