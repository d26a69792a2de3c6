#include "text/known_words.h"

#include <algorithm>

#include "text/lines.h"
#include "text/unicode.h"

namespace headlight::text {

void read_words(OpenWord& open, std::string_view text, std::vector<std::string>& ended) {
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    at += c.length;
    if (is_one_of(c.code, kNumber)) {
      open.has_digit = true;
    } else if (is_one_of(c.code, kLetter | kMark)) {
      append_lowercase(open.letters, c.code);
    } else {
      if (!open.letters.empty() && !open.has_digit) ended.push_back(std::move(open.letters));
      open = {};
    }
  }
}

KnownWords::KnownWords(const std::string& name, std::string lines) : lines_(std::move(lines)) {
  words_ = lines_of(lines_);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const FilePlace place{name, i + 1};
    check_utf8(place, "words.line", words_[i]);
    if (words_[i].empty()) refuse(place, "words.line", "an empty line; expected one word");
    if (i > 0 && words_[i] <= words_[i - 1])
      refuse(place, "words.order", "not in the order of its bytes; sort with LC_ALL=C sort -u");
  }
  if (words_.empty()) refuse({name, 1}, "words.none", "the file has no words");
}

bool KnownWords::contains(std::string_view word) const noexcept {
  return std::binary_search(words_.begin(), words_.end(), word);
}

bool KnownWords::begins(std::string_view letters) const noexcept {
  const auto next = std::lower_bound(words_.begin(), words_.end(), letters);
  return next != words_.end() && next->substr(0, letters.size()) == letters;
}

}  // namespace headlight::text
