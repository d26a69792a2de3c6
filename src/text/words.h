// Word boundaries: the only definition of a word in Headlight.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace headlight::text {

struct ByteSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const ByteSpan&) const = default;
};

// Splits the text, without its spaces, into spans:
// - a word is a run of letters, marks and digits; a single ' ’ - . , : · _ or & between two of them is part of it, as
// "don't", "well-known" and "3.14";
// - in scripts that put no spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese) every character is a
//   span, together with its marks;
// - every character of punctuation and every symbol is a span too.
// Bytes that are not UTF-8 count as symbols.
[[nodiscard]] std::vector<ByteSpan> word_spans(std::string_view text);

// For every position 0 … text.size(): whether a search match may begin or end there. Not inside a run of letters and
// digits ("he" is not in "the"), nor inside a character, nor before a mark. Unlike word_spans(), it may at a "-" or "'",
// so that "known" is found in "well-known".
[[nodiscard]] std::vector<bool> word_edges(std::string_view text);

// All positions of the words between two edges. `any` matches ASCII capital letters with small ones.
enum class Case { exact, any };
[[nodiscard]] std::vector<ByteSpan> places_of(std::string_view text, std::string_view words, Case rule);
[[nodiscard]] bool are_equal(std::string_view a, std::string_view b, Case rule);

// The text without white space (White_Space) at both ends.
[[nodiscard]] std::string_view without_outer_spaces(std::string_view text);

// Whether all of it is punctuation or ASCII symbols. An empty text is not.
[[nodiscard]] bool is_punctuation(std::string_view text);
// False for a text of only punctuation, symbols and blanks.
[[nodiscard]] bool has_letter_or_digit(std::string_view text);

}  // namespace headlight::text
