// Models that look words up: WordPiece, which splits greedily from the left, and plain word lists.
#pragma once

#include "text/byte_trie.h"
#include "text/word_model.h"

namespace headlight::text {

class WordPiece : public WordModel {
 public:
  WordPiece(const WordPieceParts& parts, Symbols symbols);
  void encode(std::string_view word, std::vector<Piece>& out) const override;

 private:
  const WordPieceParts& parts_;
  Symbols symbols_;
  ByteTrie trie_;
  ByteTrie::Node continued_;  // after the prefix for continuations
};

class WordLevel : public WordModel {
 public:
  WordLevel(const WordLevelParts& parts, Symbols symbols) : parts_(parts), symbols_(symbols) {}
  void encode(std::string_view word, std::vector<Piece>& out) const override;

 private:
  const WordLevelParts& parts_;
  Symbols symbols_;
};

}  // namespace headlight::text
