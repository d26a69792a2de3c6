// Text to token ids and back. Created from a file by load_tokenizer() (models) or by training (text).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {
class TokenizerModel;  // src/text; not exported
}

#pragma GCC visibility push(default)

namespace headlight {

using TokenId = std::int32_t;

// The bytes of the text that a token covers: [begin, end), whole characters. Special tokens added around
// the text cover nothing.
struct TokenSpan {
  TokenId id = 0;
  std::size_t begin = 0, end = 0;
};

// The same with all properties of a token.
struct TokenPiece {
  TokenId id = 0;
  std::string text;  // as in the vocabulary ("Ġcat"); for an unknown token, its text
  std::size_t begin = 0, end = 0;
  std::int32_t type_id = 0;  // 1 for the second text of a pair, for models that distinguish them
  bool added = false;        // added around the text by the tokenizer
};

enum class SpecialTokens { add, leave_out };
enum class SpecialRole { pad, begin, end, unknown, mask };

// Cheap to copy, immutable; any number of threads may use one at the same time. Text should be
// UTF-8; invalid bytes are read as U+FFFD, as in other tokenizers.
class Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            SpecialTokens special = SpecialTokens::add) const;
  [[nodiscard]] std::vector<TokenSpan> encode_spans(std::string_view text,
                                                    SpecialTokens special = SpecialTokens::add) const;
  [[nodiscard]] std::vector<TokenPiece> encode_pieces(std::string_view text,
                                                      SpecialTokens special = SpecialTokens::add) const;
  // Two texts for models that read pairs; spans count within each text.
  [[nodiscard]] std::vector<TokenPiece> encode_pair(std::string_view first, std::string_view second,
                                                    SpecialTokens special = SpecialTokens::add) const;
  // Ids to text. Special tokens are written as their names or left out. Ids outside the vocabulary are
  // left out.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids,
                                   SpecialTokens special = SpecialTokens::leave_out) const;

  // Encodes translations, for files that have another model for them (opus-mt); otherwise the same tokenizer.
  [[nodiscard]] Tokenizer for_target() const;

  [[nodiscard]] std::int32_t size() const noexcept;                         // ids are 0 … size-1
  [[nodiscard]] std::string_view token(TokenId id) const;                   // as in the vocabulary: "Ġcat"
  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;  // special or not
  [[nodiscard]] bool is_special(TokenId id) const noexcept;
  // The special token with this role, by its common names: "<pad>", "[PAD]", "<|pad|>" …
  [[nodiscard]] std::optional<TokenId> find(SpecialRole role) const;
  [[nodiscard]] const TokenizerModel& model() const noexcept { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace headlight

#pragma GCC visibility pop
