// SentencePiece's precompiled_charsmap: a double-array trie from strings to their replacements. Read
// from untrusted bytes; every step of a walk is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

class CharsmapTable {
 public:
  CharsmapTable() = default;
  // Throws Error{input} unless the sizes fit and the replacements are UTF-8.
  explicit CharsmapTable(std::string_view bytes);

  struct Match {
    std::size_t length = 0;  // bytes of text that are replaced
    std::string_view replacement;
  };
  // The shortest or the longest prefix of `text` that the table replaces.
  [[nodiscard]] std::optional<Match> shortest(std::string_view text) const noexcept;
  [[nodiscard]] std::optional<Match> longest(std::string_view text) const noexcept;
  // Whether there is a rule for this character alone, or followed by more ASCII.
  [[nodiscard]] bool starts_rule_in_ascii(char first) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return units_.empty(); }

 private:
  template <class Seen>
  void walk(std::string_view text, const Seen& seen, std::size_t* steps = nullptr) const noexcept;

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each ends in a zero byte
};

}  // namespace headlight::text
