#include "text/spaced_words.h"

#include <algorithm>

namespace headlight::text {

Index count_spaced_words(std::string_view text) {
  Index count = 0;
  bool inside = false;
  for (const char letter : text) {
    count += letter != ' ' && !inside ? 1 : 0;
    inside = letter != ' ';
  }
  return count;
}

ByteRange spaced_word(std::string_view text, Index number) {
  ByteRange word;
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

}  // namespace headlight::text
