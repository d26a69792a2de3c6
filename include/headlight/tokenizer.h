// Text to token ids and back. Made from a file by load_tokenizer() (models) or by training (text).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

using TokenId = std::int32_t;

// Which bytes of the text a token stands for: [begin, end). Special tokens stand for nothing.
struct TokenSpan {
  TokenId id = 0;
  std::size_t begin = 0, end = 0;
};

enum class SpecialTokens { add, leave_out };

class TokenizerModel;  // src/text

class Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            SpecialTokens special = SpecialTokens::add) const;
  [[nodiscard]] std::vector<TokenSpan> encode_spans(std::string_view text,
                                                    SpecialTokens special = SpecialTokens::add) const;
  // The text again. Special tokens are kept as their names, or left out.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids,
                                   SpecialTokens special = SpecialTokens::leave_out) const;

  [[nodiscard]] std::int32_t size() const noexcept;                         // ids are 0 … size-1
  [[nodiscard]] std::string_view token(TokenId id) const;                   // as in the vocabulary: "Ġcat"
  [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;  // special or not
  [[nodiscard]] bool is_special(TokenId id) const noexcept;
  [[nodiscard]] const TokenizerModel& model() const noexcept { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace headlight
