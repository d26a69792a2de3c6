#include "train/word_links.h"

#include <algorithm>
#include <utility>

namespace headlight::train {
namespace {

struct Range {
  std::size_t begin = 0, end = 0;
};

Range word_at(std::string_view text, Index number) {
  Range word;
  for (;; --number) {
    word.begin = std::min(text.find_first_not_of(' ', word.end), text.size());
    word.end = std::min(text.find(' ', word.begin), text.size());
    if (number == 0) break;
  }
  const std::string_view letters = text.substr(word.begin, word.end - word.begin);
  const std::size_t last = letters.find_last_not_of(".,;:!?");
  if (last != std::string_view::npos) word.end = word.begin + last + 1;
  return word;
}

// The tokens that have a part of it.
std::pair<Index, Index> tokens_of(std::span<const TokenSpan> tokens, const Range& word) {
  Index begin = 0;
  while (begin < static_cast<Index>(tokens.size()) &&
         tokens[static_cast<std::size_t>(begin)].end <= word.begin)
    ++begin;
  Index end = begin;
  while (end < static_cast<Index>(tokens.size()) && tokens[static_cast<std::size_t>(end)].begin < word.end)
    ++end;
  return {begin, end};
}

}  // namespace

Index count_words(std::string_view text) {
  Index count = 0;
  bool inside = false;
  for (const char letter : text) {
    count += letter != ' ' && !inside ? 1 : 0;
    inside = letter != ' ';
  }
  return count;
}

models::Link token_link(std::string_view text, std::span<const TokenSpan> tokens, Index query_word,
                        Index key_word) {
  const auto [begin, end] = tokens_of(tokens, word_at(text, key_word));
  return {tokens_of(tokens, word_at(text, query_word)).first, begin, end};
}

}  // namespace headlight::train
