// A model turns one word into tokens, independently of texts, special tokens and other words.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/parts.h"

namespace headlight::text {

struct Piece {
  TokenId id = 0;
  std::uint32_t begin = 0, end = 0;  // bytes of the word
};

class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the tokens of a word that is not empty.
  virtual void encode(std::string_view word, std::vector<Piece>& out) const = 0;
  // A character before which the word may be split without changing a token, unless the same character
  // precedes it. Without a pre-tokenizer, a text is one long word; it is split so that its parts can be cached.
  [[nodiscard]] virtual std::string_view safe_cut() const noexcept { return {}; }
};

// A symbol of a word: a character, or one byte if the pre-tokenizer outputs bytes.
enum class Symbols { characters, bytes };

[[nodiscard]] std::unique_ptr<WordModel> make_word_model(const ModelParts& parts, Symbols symbols);

}  // namespace headlight::text
