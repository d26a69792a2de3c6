// The unigram model: of all segmentations of a word into tokens, the one with the largest sum of scores.
#pragma once

#include <array>

#include "text/byte_trie.h"
#include "text/word_model.h"

namespace headlight::text {

class Unigram : public WordModel {
 public:
  // Throws Error{input} when a word may need the unknown token and there is none.
  Unigram(const UnigramParts& parts, Symbols symbols);
  void encode(std::string_view word, std::vector<Piece>& out) const override;

 private:
  void add(std::string_view word, Piece piece, std::vector<Piece>& out) const;

  const UnigramParts& parts_;
  Symbols symbols_;
  ByteTrie trie_;
  double unknown_score_ = 0;
  std::array<TokenId, 256> fallback_{};
};

// The tokens of a vocabulary in the form that words with these symbols have.
[[nodiscard]] ByteTrie trie_of(const TokenTable& vocab, Symbols symbols);

}  // namespace headlight::text
