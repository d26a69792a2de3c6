// Subword regularization: a token that was merged from two is sometimes split into those two. What a
// model learns about a word then extends to its rarer spellings: "animal" is one token after a space and three after "l'".
#pragma once

#include <span>
#include <vector>

#include "core/dice.h"
#include "headlight/tokenizer.h"

namespace headlight::train {

class TokenSplits {
 public:
  TokenSplits() = default;  // leaves every token whole
  // Splits a share of the tokens, and the same share of the resulting tokens again. Error{input} for a tokenizer
  // without merges.
  TokenSplits(const Tokenizer& tokenizer, double share);

  [[nodiscard]] bool any() const noexcept { return share_ > 0; }
  // Writes `ids` to `out`.
  void split(std::span<const TokenId> ids, headlight::Dice& dice, std::vector<TokenId>& out) const;

 private:
  struct Halves {
    TokenId left = -1, right = -1;
  };
  std::vector<Halves> halves_;  // by id; -1: not merged from anything
  double share_ = 0;
};

}  // namespace headlight::train
