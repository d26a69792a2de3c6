#include "text/scanners.h"

#include <array>
#include <limits>

#include "text/unicode.h"

namespace headlight::text {
namespace {

// A text, and the end up to which it is read.
struct Scan {
  std::string_view text;
  std::uint32_t end = 0;

  [[nodiscard]] Character at(std::uint32_t place) const noexcept { return character_at(text, place); }
  [[nodiscard]] bool is(std::uint32_t place, unsigned classes) const noexcept {
    return place < end && is_one_of(at(place).code, classes);
  }
  // The end of the run of characters with (or without) these classes, after at most `most` of them.
  [[nodiscard]] std::uint32_t run(std::uint32_t place, unsigned classes, bool with,
                                  std::uint32_t most = std::numeric_limits<std::uint32_t>::max()) const {
    for (std::uint32_t n = 0; n < most && place < end; ++n) {
      const auto byte = static_cast<unsigned char>(text[place]);
      if (byte < 0x80) {
        if (((kAsciiClasses[byte] & classes) != 0) != with) break;
        ++place;
        continue;
      }
      const Character c = at(place);
      if (is_one_of(c.code, classes) != with) break;
      place += c.length;
    }
    return place;
  }
};

enum class LetterCase { exact, any };

// The end of an English ending such as 've, or `place` itself when there is none. In any case, ſ is an s.
std::uint32_t contraction(const Scan& scan, std::uint32_t place, LetterCase letter_case) {
  if (place >= scan.end || scan.text[place] != '\'') return place;
  const auto letter = [&](std::uint32_t i) {
    if (i >= scan.end) return '\0';
    const char c = scan.text[i];
    return letter_case == LetterCase::any && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = letter(place + 1), second = letter(place + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return place + 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l'))
    return place + 3;
  if (letter_case == LetterCase::any && place + 2 < scan.end && scan.at(place + 1).code == 0x17F)
    return place + 3;
  return place;
}

// \s+(?!\S)|\s+ : all white space, except that the last one stays with the word after it.
std::uint32_t spaces(const Scan& scan, std::uint32_t place) {
  std::uint32_t last = place, after = place;
  while (scan.is(after, kSpace)) {
    last = after;
    after += scan.at(after).length;
  }
  return after == scan.end || last == place ? after : last;
}

std::uint32_t scan_cl100k(const Scan& scan, std::uint32_t at, std::uint32_t most_numbers) {
  if (const std::uint32_t after = contraction(scan, at, LetterCase::any); after > at) return after;
  const Character first = scan.at(at);
  const std::uint8_t classes = classes_of(first.code);
  const std::uint32_t next = at + first.length;
  if ((classes & kLetter) != 0) return scan.run(next, kLetter, true);
  if ((classes & (kNumber | kNewline)) == 0 && scan.is(next, kLetter)) return scan.run(next, kLetter, true);
  if ((classes & kNumber) != 0) return scan.run(at, kNumber, true, most_numbers);
  const std::uint32_t signs = first.code == ' ' ? next : at;
  if (const std::uint32_t after = scan.run(signs, kSpace | kLetter | kNumber, false); after > signs)
    return scan.run(after, kNewline, true);
  // White space up to its last line break, if it has one.
  std::uint32_t after_break = at;
  for (std::uint32_t place = at; scan.is(place, kSpace); place += scan.at(place).length)
    if (scan.is(place, kNewline)) after_break = place + 1;
  return after_break > at ? after_break : spaces(scan, at);
}

}  // namespace

std::uint32_t scan_gpt2(std::string_view text, std::uint32_t at, std::uint32_t end) {
  const Scan scan{text, end};
  if (const std::uint32_t after = contraction(scan, at, LetterCase::exact); after > at) return after;
  const std::uint32_t start = text[at] == ' ' && at + 1 < end ? at + 1 : at;
  const std::uint8_t classes = classes_of(scan.at(start).code);
  if ((classes & kLetter) != 0) return scan.run(start, kLetter, true);
  if ((classes & kNumber) != 0) return scan.run(start, kNumber, true);
  if ((classes & kSpace) == 0) return scan.run(start, kSpace | kLetter | kNumber, false);
  return spaces(scan, at);
}

std::uint32_t scan_llama3(std::string_view text, std::uint32_t at, std::uint32_t end) {
  return scan_cl100k({text, end}, at, 3);
}

std::uint32_t scan_qwen2(std::string_view text, std::uint32_t at, std::uint32_t end) {
  return scan_cl100k({text, end}, at, 1);
}

}  // namespace headlight::text
