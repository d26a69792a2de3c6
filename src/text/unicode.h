// UTF-8 and Unicode character classes. All code of a tokenizer after to_well_formed() works on well-formed
// text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headlight::text {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Character {
  char32_t code = 0;
  std::uint32_t length = 0;  // bytes
};

// The character at text[at]. The text must be well-formed and `at` the start of a character.
[[nodiscard]] inline Character character_at(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const auto tail = [&](std::size_t i) { return static_cast<char32_t>(byte(i) & 0x3FU); };
  if (first < 0xE0) return {((first & 0x1FU) << 6) | tail(1), 2};
  if (first < 0xF0) return {((first & 0x0FU) << 12) | (tail(1) << 6) | tail(2), 3};
  return {((first & 0x07U) << 18) | (tail(1) << 12) | (tail(2) << 6) | tail(3), 4};
}
// The bytes of the character that starts with this byte, in well-formed text.
[[nodiscard]] inline std::size_t length_from(char first) noexcept {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
[[nodiscard]] inline bool is_continuation(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

void append(std::string& text, char32_t code);
[[nodiscard]] std::string to_utf8(char32_t code);
[[nodiscard]] std::size_t count_characters(std::string_view text) noexcept;

[[nodiscard]] bool is_ascii(std::string_view text) noexcept;
[[nodiscard]] bool is_well_formed(std::string_view text) noexcept;
// Bytes at the start of `text` that are one well-formed character, or else the ill-formed bytes that
// are replaced together: a maximal part of a character, as Unicode recommends and most programs do.
struct NextBytes {
  std::size_t length = 0;
  bool well_formed = false;
};
[[nodiscard]] NextBytes next_bytes(std::string_view text) noexcept;
// Ill-formed bytes become U+FFFD.
[[nodiscard]] std::string to_well_formed(std::string_view bytes);

// Classes of characters, as split patterns name them.
enum CharacterClass : std::uint8_t {
  kLetter = 1,        // \p{L}
  kNumber = 2,        // \p{N}
  kSpace = 4,         // \s: White_Space
  kPunctuation = 8,   // \p{P}
  kMark = 16,         // \p{M}
  kControl = 32,      // \p{Cc} and \p{Cf}
  kNewline = 64,      // \r and \n
  kNonspacing = 128,  // \p{Mn}
};
// For characters beyond ASCII.
[[nodiscard]] std::uint8_t look_up_classes(char32_t code) noexcept;
extern const std::array<std::uint8_t, 128> kAsciiClasses;
[[nodiscard]] inline std::uint8_t classes_of(char32_t code) noexcept {
  return code < 0x80 ? kAsciiClasses[code] : look_up_classes(code);
}
[[nodiscard]] inline bool is_one_of(char32_t code, unsigned classes) noexcept {
  return (classes_of(code) & classes) != 0;
}
// \w: letters, marks, decimal numbers and connectors such as "_".
[[nodiscard]] bool is_word_character(char32_t code) noexcept;
// Numeric in the wide sense: \p{N}.
[[nodiscard]] inline bool is_numeric(char32_t code) noexcept { return is_one_of(code, kNumber); }

// Full lower case: one character may become several (İ becomes i and a dot above).
void append_lowercase(std::string& text, char32_t code);

}  // namespace headlight::text
