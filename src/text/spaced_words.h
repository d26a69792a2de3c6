// Words separated by spaces, counted from 0, without trailing punctuation: the word indices of example sentences.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "headlight/tensor.h"

namespace headlight::text {

struct ByteRange {
  std::size_t begin = 0, end = 0;
};

[[nodiscard]] Index count_spaced_words(std::string_view text);
// The bytes of a word. The number must be below count_spaced_words().
[[nodiscard]] ByteRange spaced_word(std::string_view text, Index number);

// The tokens that contain some of these bytes, from the first to before the second number. A token has members begin and
// end, in bytes.
template <class Spans>
[[nodiscard]] std::pair<Index, Index> tokens_in(const Spans& tokens, const ByteRange& bytes) {
  const auto size = static_cast<Index>(tokens.size());
  const auto at = [&](Index i) { return tokens[static_cast<std::size_t>(i)]; };
  Index begin = 0;
  while (begin < size && at(begin).end <= bytes.begin) ++begin;
  Index end = begin;
  while (end < size && at(end).begin < bytes.end) ++end;
  return {begin, end};
}

}  // namespace headlight::text
