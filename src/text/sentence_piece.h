// SentencePiece models with the exact results of SentencePiece, including the rounding of scores.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/aligned_text.h"
#include "text/byte_trie.h"
#include "text/charsmap.h"
#include "text/encoded.h"
#include "text/parts.h"
#include "text/word_cache.h"

namespace headlight::text {

class SentencePieceModel;

class SentencePiece {
 public:
  // `parts` must outlive this.
  explicit SentencePiece(const SentencePieceParts& parts);
  ~SentencePiece();
  SentencePiece(const SentencePiece&) = delete;
  SentencePiece& operator=(const SentencePiece&) = delete;

  // Any bytes; one that is not part of a UTF-8 character is U+FFFD.
  void encode(std::string_view bytes, Origins origins, WordCache& cache, Encoded& out) const;
  // Control symbols are kept as their names, or omitted. The space before the first word stays after a name.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, SpecialTokens special) const;

 private:
  struct Normalized {
    std::string text;
    std::vector<std::uint32_t> origins;  // one per byte, and one for the end
  };
  struct Prefix {
    std::string_view text;
    std::size_t consumed = 0;
  };
  [[nodiscard]] Normalized normalize(std::string_view bytes) const;
  [[nodiscard]] std::size_t plain_run(std::string_view bytes) const;
  [[nodiscard]] Prefix normalize_prefix(std::string_view bytes) const;
  void add(const Normalized& text, Range range, TokenId id, Origins origins, Encoded& out) const;

  const SentencePieceParts& parts_;
  CharsmapTable charsmap_;
  ByteTrie user_defined_;
  std::unique_ptr<SentencePieceModel> model_;
  TokenId unknown_ = 0;
  std::array<TokenId, 256> bytes_{};
  std::array<bool, 256> plain_{};  // ASCII that is unchanged if more ASCII follows
};

}  // namespace headlight::text
