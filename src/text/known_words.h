// A list of words that can be searched by prefix.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

// The state at the end of a text: the letters, in lower case, of a word that may continue.
struct OpenWord {
  std::string letters;
  bool has_digit = false;  // it is then not a word: "25th"
};
// Reads more of the text, whole characters, and appends the words that end in it. A word is a run of letters and marks:
// "aujourd'hui" and "peut-être" are two words each.
void read_words(OpenWord& open, std::string_view text, std::vector<std::string>& ended);

class KnownWords {
 public:
  // Lower-case words, one per line, sorted by bytes: `LC_ALL=C sort -u`. `name` is for messages. Throws Error{input}.
  KnownWords(const std::string& name, std::string lines);
  KnownWords(const KnownWords&) = delete;  // words_ refers to lines_
  KnownWords& operator=(const KnownWords&) = delete;
  ~KnownWords() = default;

  [[nodiscard]] bool contains(std::string_view word) const noexcept;
  // Whether a word starts with these letters.
  [[nodiscard]] bool begins(std::string_view letters) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }

 private:
  std::string lines_;
  std::vector<std::string_view> words_;
};

}  // namespace headlight::text
