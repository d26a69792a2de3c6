#include "headlight/tokenizer.h"

#include <array>

#include "text/bpe.h"
#include "text/checks.h"
#include "text/tokenizer_model.h"
#include "text/unigram.h"
#include "text/whole_words.h"

namespace headlight {
namespace text {

const TokenTable& vocab_of(const ModelParts& model) {
  return std::visit([](const auto& parts) -> const TokenTable& { return parts.vocab; }, model);
}

std::unique_ptr<WordModel> make_word_model(const ModelParts& parts, Symbols symbols) {
  if (const auto* bpe = std::get_if<BpeParts>(&parts)) return std::make_unique<Bpe>(*bpe, symbols);
  if (const auto* unigram = std::get_if<UnigramParts>(&parts))
    return std::make_unique<Unigram>(*unigram, symbols);
  if (const auto* pieces = std::get_if<WordPieceParts>(&parts))
    return std::make_unique<WordPiece>(*pieces, symbols);
  return std::make_unique<WordLevel>(std::get<WordLevelParts>(parts), symbols);
}

Tokenizer make_tokenizer(TokenizerParts parts) {
  check_parts(parts);
  return Tokenizer(std::make_shared<const TokenizerModel>(std::move(parts)));
}

const TokenizerParts& parts_of(const Tokenizer& tokenizer) { return tokenizer.model().parts(); }

}  // namespace text

namespace {

std::vector<TokenPiece> to_pieces(const TokenizerModel& model, const text::Encoded& encoded) {
  std::vector<TokenPiece> pieces;
  pieces.reserve(encoded.tokens.size());
  for (const text::Token& token : encoded.tokens) {
    const auto surface = static_cast<std::size_t>(token.surface);
    pieces.push_back({token.id,
                      token.surface >= 0 ? encoded.surfaces[surface] : std::string(model.token(token.id)),
                      token.origin.begin, token.origin.end, token.type_id, token.added});
  }
  return pieces;
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerModel> model) : model_(std::move(model)) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  const text::Encoded encoded =
      model_->post_process(model_->encode(text, text::Origins::forget), nullptr, special);
  std::vector<TokenId> ids;
  ids.reserve(encoded.tokens.size());
  for (const text::Token& token : encoded.tokens) ids.push_back(token.id);
  return ids;
}

std::vector<TokenSpan> Tokenizer::encode_spans(std::string_view text, SpecialTokens special) const {
  const text::Encoded encoded =
      model_->post_process(model_->encode(text, text::Origins::track), nullptr, special);
  std::vector<TokenSpan> spans;
  spans.reserve(encoded.tokens.size());
  for (const text::Token& token : encoded.tokens)
    spans.push_back({token.id, token.origin.begin, token.origin.end});
  return spans;
}

std::vector<TokenPiece> Tokenizer::encode_pieces(std::string_view text, SpecialTokens special) const {
  return to_pieces(*model_,
                   model_->post_process(model_->encode(text, text::Origins::track), nullptr, special));
}

std::vector<TokenPiece> Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                               SpecialTokens special) const {
  text::Encoded other = model_->encode(second, text::Origins::track);
  return to_pieces(*model_,
                   model_->post_process(model_->encode(first, text::Origins::track), &other, special));
}

std::string Tokenizer::decode(std::span<const TokenId> ids, SpecialTokens special) const {
  return model_->decode(ids, special);
}

Tokenizer Tokenizer::for_target() const { return model_->target() ? Tokenizer(model_->target()) : *this; }

std::int32_t Tokenizer::size() const noexcept { return model_->size(); }
std::string_view Tokenizer::token(TokenId id) const { return model_->token(id); }
std::optional<TokenId> Tokenizer::find(std::string_view token) const { return model_->find(token); }
bool Tokenizer::is_special(TokenId id) const noexcept { return model_->is_special(id); }

std::optional<TokenId> Tokenizer::find(SpecialRole role) const {
  static constexpr std::array<std::array<std::string_view, 6>, 5> kNames = {{
      {"<pad>", "[PAD]", "<|pad|>", "<PAD>", "<|padding|>", "<|finetune_right_pad_id|>"},
      {"<s>", "[CLS]", "<|begin_of_text|>", "<bos>", "<|startoftext|>", "<|endoftext|>"},
      {"</s>", "[SEP]", "<|end_of_text|>", "<eos>", "<|endoftext|>", "<|im_end|>"},
      {"<unk>", "[UNK]", "<|unk|>", "<UNK>", "", ""},
      {"<mask>", "[MASK]", "<|mask|>", "<MASK>", "", ""},
  }};
  for (const std::string_view name : kNames[static_cast<std::size_t>(role)]) {
    if (name.empty()) continue;
    if (const auto id = find(name)) return id;
  }
  return std::nullopt;
}

}  // namespace headlight
