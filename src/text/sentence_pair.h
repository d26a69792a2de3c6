// The tokenizer of opus-mt: two SentencePiece models that share one vocabulary.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "text/encoded.h"
#include "text/parts.h"
#include "text/sentence_piece.h"
#include "text/word_cache.h"

namespace headlight::text {

class SentencePair {
 public:
  // `parts` must outlive this.
  explicit SentencePair(const SentencePairParts& parts);

  // A part of a text; origins count from the beginning of the text. A language code ">>fra<<" at the start of the part is
  // one token.
  void encode(std::string_view text, Range part, WordCache& cache, Encoded& out) const;
  // `is_special` tells which ids are special tokens.
  template <class IsSpecial>
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, SpecialTokens special,
                                   const IsSpecial& is_special) const {
    std::string text, run;
    for (const TokenId id : ids) {
      if (!parts_.vocab.has(id)) continue;
      if (!is_special(id)) {
        add_piece(parts_.vocab.token(id), run);
        continue;
      }
      if (special == SpecialTokens::leave_out) continue;
      text += finish(run);
      text += parts_.vocab.token(id);
      text += ' ';
      run.clear();
    }
    return trimmed(text + finish(run));
  }

 private:
  void add(std::string_view piece, Range origin, Encoded& out) const;
  void add_piece(std::string_view piece, std::string& run) const;
  [[nodiscard]] static std::string finish(const std::string& run);
  [[nodiscard]] static std::string trimmed(const std::string& text);

  const SentencePairParts& parts_;
  const SentencePieceParts& reads_;
  SentencePiece encoder_;
};

}  // namespace headlight::text
