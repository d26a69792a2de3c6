// Tokens of a text: coloured text, a table, JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/page.h"
#include "headlight/tokenizer.h"

namespace headlight::cli {

// Converts byte offsets to character offsets. Call in increasing order: it counts on from the last one.
class CharacterCounter {
 public:
  explicit CharacterCounter(std::string_view text) : text_(text) {}
  [[nodiscard]] std::size_t at(std::size_t byte);

 private:
  std::string_view text_;
  std::size_t byte_ = 0, characters_ = 0;
};

[[nodiscard]] std::string tokens_text(std::string_view text, const std::vector<TokenPiece>& pieces,
                                      const Tokenizer& tokenizer, const PageStyle& style);
// {"ids": …, "tokens": …, "offsets": …, "decoded": …} in one line; offsets count characters.
[[nodiscard]] std::string tokens_json(std::string_view text, const std::vector<TokenPiece>& pieces,
                                      const Tokenizer& tokenizer);

}  // namespace headlight::cli
