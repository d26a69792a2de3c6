// SentencePiece's four models. Text comes in stretches that no piece reaches across.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"
#include "text/parts.h"
#include "text/word_cache.h"
#include "text/word_model.h"

namespace headlight::text {

class SentencePieceModel {
 public:
  virtual ~SentencePieceModel() = default;
  // Appends the pieces of a stretch. `score` is the sum so far; models without scores do not change it.
  virtual void encode(std::string_view stretch, float& score, WordCache& cache,
                      std::vector<Piece>& out) const = 0;
  // Whether the text may be split before each ▁ that follows another character.
  [[nodiscard]] virtual bool cuts_at_spaces() const = 0;
};

// `user_defined` must outlive the model.
[[nodiscard]] std::unique_ptr<SentencePieceModel> make_sentence_piece_model(const SentencePieceParts& parts,
                                                                            const ByteTrie& user_defined,
                                                                            TokenId unknown);

[[nodiscard]] std::unique_ptr<SentencePieceModel> make_sentence_piece_unigram(const SentencePieceParts& parts,
                                                                              TokenId unknown);

// Pieces that text can become: not control symbols, the unknown one and bytes.
[[nodiscard]] inline bool is_text(SentencePieceParts::Type type) noexcept {
  using Type = SentencePieceParts::Type;
  return type == Type::normal || type == Type::user_defined || type == Type::unused;
}
// No piece has ▁ behind another character.
[[nodiscard]] bool can_cut_at_spaces(const SentencePieceParts& parts);

}  // namespace headlight::text
