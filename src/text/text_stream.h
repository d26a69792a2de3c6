// Streaming text from tokens: whole characters only, and never part of a stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"

namespace headlight::text {

// The text of tokens that come one by one. What a token adds depends on those before it: spaces, pieces of
// words, bytes of characters.
class TokenText {
 public:
  // `before` are the tokens that the new ones follow.
  TokenText(Tokenizer tokenizer, std::vector<TokenId> before);
  // The text that is certain now; empty while a character is incomplete.
  [[nodiscard]] std::string add(TokenId token);
  // The text held back so far.
  [[nodiscard]] std::string finish();

 private:
  [[nodiscard]] std::string decode(std::size_t end) const;
  Tokenizer tokenizer_;
  std::vector<TokenId> tokens_;
  std::size_t begin_ = 0;  // decoding starts here
  std::size_t given_ = 0;  // the text of earlier tokens has been returned
};

// Searches some strings in a text that arrives in pieces.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> strings);  // none may be empty
  // The text that can be returned: everything before a stop string, and nothing that may begin one.
  [[nodiscard]] std::string add(std::string_view text);
  [[nodiscard]] bool found() const noexcept { return found_; }
  // The text held back so far, at the end of the text.
  [[nodiscard]] std::string finish();

 private:
  [[nodiscard]] std::size_t possible_start() const noexcept;
  std::vector<std::string> strings_;
  std::string held_;
  bool found_ = false;
};

}  // namespace headlight::text
