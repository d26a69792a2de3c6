// A tokenizer in use: checked parts and their tables.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizer.h"
#include "text/added_tokens.h"
#include "text/aligned_text.h"
#include "text/decoder.h"
#include "text/encoded.h"
#include "text/normalizer.h"
#include "text/parts.h"
#include "text/pre_tokenizer.h"
#include "text/sentence_pair.h"
#include "text/sentence_piece.h"
#include "text/word_cache.h"
#include "text/word_model.h"

namespace headlight {

class TokenizerModel {
 public:
  explicit TokenizerModel(text::TokenizerParts parts);

  // One text, without the tokens that the post-processor adds. Texts of 2 GiB and more are refused.
  [[nodiscard]] text::Encoded encode(std::string_view text, text::Origins origins) const;
  // Special tokens around one text or two, type ids, trimmed origins.
  [[nodiscard]] text::Encoded post_process(text::Encoded first, text::Encoded* second,
                                           SpecialTokens special) const;
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, SpecialTokens special) const;

  [[nodiscard]] std::string_view token(TokenId id) const noexcept;
  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;
  [[nodiscard]] bool is_special(TokenId id) const noexcept;
  [[nodiscard]] TokenId size() const noexcept { return size_; }
  [[nodiscard]] const text::TokenizerParts& parts() const noexcept { return parts_; }
  // Encodes translations; null: this one does.
  [[nodiscard]] const std::shared_ptr<const TokenizerModel>& target() const noexcept { return target_; }

 private:
  template <class Use>
  void each_part(const text::AlignedText& text, text::AddedTokens::Stage stage, text::Encoded& out,
                 const Use& use) const;
  [[nodiscard]] text::Encoded encode_with_pair(std::string_view text) const;
  void encode_words(const text::Words& words, text::WordCache& cache, text::Encoded& out) const;
  void encode_word(const text::Words& words, text::Range range, text::WordCache& cache,
                   text::Encoded& out) const;

  text::TokenizerParts parts_;
  text::Normalizer normalizer_;
  text::PreTokenizer pre_tokenizer_;
  text::AddedTokens added_;
  std::unique_ptr<text::WordModel> model_;               // or else:
  std::unique_ptr<text::SentencePiece> sentence_piece_;  // replaces all other steps, or else:
  std::unique_ptr<text::SentencePair> pair_;             // replaces them, except for added tokens
  std::shared_ptr<const TokenizerModel> target_;
  text::Decoder decoder_;
  TokenId size_ = 0;
  std::optional<TokenId> unknown_surface_;  // the token whose text is the unknown text
  mutable text::WordCachePool caches_;
};

}  // namespace headlight
