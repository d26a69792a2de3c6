// Byte-pair encoding: of all neighbours that may be merged, the pair that was learned first, the
// leftmost of equals, until none is left.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "text/word_model.h"

namespace headlight::text {

// Pairs of ids and the ids of their merges.
class MergeTable {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Merge {
    std::uint32_t rank = kNone;
    TokenId result = 0;
  };

  explicit MergeTable(const std::vector<BpeParts::Merge>& merges);
  [[nodiscard]] Merge find(TokenId left, TokenId right) const noexcept;

 private:
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    Merge merge;
  };
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
};

class Bpe : public WordModel {
 public:
  Bpe(const BpeParts& parts, Symbols symbols);
  void encode(std::string_view word, std::vector<Piece>& out) const override;
  [[nodiscard]] std::string_view safe_cut() const noexcept override { return safe_cut_; }

 private:
  void add_symbols(std::string_view word, std::vector<Piece>& out) const;
  [[nodiscard]] std::optional<TokenId> symbol(std::string_view text, bool first, bool last) const;
  void merge_few(std::vector<Piece>& pieces, std::size_t first) const;
  void merge_many(std::vector<Piece>& pieces, std::size_t first) const;

  const BpeParts& parts_;
  Symbols symbols_;
  MergeTable merges_;
  TokenTable raw_;                       // whole words as bytes, for ignore_merges
  std::array<TokenId, 256> bytes_{};     // symbol of a byte (or of an ASCII character), -1 for none
  std::array<TokenId, 256> fallback_{};  // <0x00> to <0xFF>, -1 for none
  std::optional<TokenId> unknown_;
  std::string safe_cut_;
};

}  // namespace headlight::text
