#include "text/tokenizer_model.h"

#include <algorithm>
#include <array>

#include "headlight/error.h"

namespace headlight {

using namespace text;

TokenizerModel::TokenizerModel(TokenizerParts parts)
    : parts_(std::move(parts)),
      normalizer_(parts_.normalizer),
      pre_tokenizer_(parts_.pre_tokenizer),
      added_(parts_.added, [this](std::string_view content) { return normalizer_.apply(content); }),
      decoder_(parts_.decoder),
      size_(vocab_of(parts_.model).size()) {
  if (const auto* pieces = std::get_if<SentencePieceParts>(&parts_.model))
    sentence_piece_ = std::make_unique<SentencePiece>(*pieces);
  else if (const auto* pair = std::get_if<SentencePairParts>(&parts_.model)) {
    pair_ = std::make_unique<SentencePair>(*pair);
    if (!pair->encodes_target) {
      TokenizerParts other = parts_;
      std::get<SentencePairParts>(other.model).encodes_target = true;
      target_ = std::make_shared<const TokenizerModel>(std::move(other));
    }
  } else
    model_ =
        make_word_model(parts_.model, pre_tokenizer_.ends_in_bytes() ? Symbols::bytes : Symbols::characters);
  for (const AddedToken& token : parts_.added) size_ = std::max(size_, token.id + 1);
  if (const auto* unigram = std::get_if<UnigramParts>(&parts_.model)) unknown_surface_ = unigram->unknown;
}

std::string_view TokenizerModel::token(TokenId id) const noexcept {
  if (const AddedToken* added = added_.find(id)) return added->content;
  return vocab_of(parts_.model).token(id);
}

std::optional<TokenId> TokenizerModel::find(std::string_view token) const {
  if (const AddedToken* added = added_.find(std::string(token))) return added->id;
  return vocab_of(parts_.model).find(token);
}

bool TokenizerModel::is_special(TokenId id) const noexcept {
  if (const auto* pieces = std::get_if<SentencePieceParts>(&parts_.model)) {
    using Type = SentencePieceParts::Type;
    const Type type = pieces->vocab.has(id) ? pieces->types[static_cast<std::size_t>(id)] : Type::normal;
    return type == Type::control || type == Type::unknown;
  }
  const AddedToken* added = added_.find(id);
  return added != nullptr && added->special;
}

Encoded TokenizerModel::encode(std::string_view text, Origins origins) const {
  if (text.size() > std::numeric_limits<std::uint32_t>::max() / 2)
    throw Error(ErrorKind::resource, "tokenizer.size",
                "tokenizer: a text of more than 2 GiB; cut it into parts");
  if (pair_) return encode_with_pair(text);
  Encoded out;
  out.tokens.reserve(text.size() / 4 + 16);
  const WordCachePool::Lease cache = caches_.borrow();
  if (sentence_piece_) {
    sentence_piece_->encode(text, origins, *cache, out);
    return out;
  }
  // If a normalizer replaces the first character by several, only their origins tell that each is at the start.
  if (!parts_.normalizer.empty() && pre_tokenizer_.asks_for_start()) origins = Origins::track;
  const AlignedText whole = well_formed(text, origins);
  std::size_t allowance = Normalizer::allowance(whole.size());
  each_part(whole, AddedTokens::Stage::original, out, [&](AlignedText part) {
    normalizer_.apply(part, allowance);
    each_part(part, AddedTokens::Stage::normalized, out, [&](AlignedText inner) {
      Words words{std::move(inner), {}};
      words.ranges = {{0, words.text.size()}};
      pre_tokenizer_.apply(words);
      encode_words(words, *cache, out);
    });
  });
  return out;
}

Encoded TokenizerModel::encode_with_pair(std::string_view text) const {
  Encoded out;
  const WordCachePool::Lease cache = caches_.borrow();
  std::vector<AddedTokens::Part> parts;
  added_.find(text, AddedTokens::Stage::original, parts);
  for (const auto& [range, token] : parts) {
    if (token == nullptr) pair_->encode(text, range, *cache, out);
    else out.tokens.push_back({token->id, range, -1, 0, false});
  }
  return out;
}

// Added tokens go to `out`, the text between them to `use`.
template <class Use>
void TokenizerModel::each_part(const AlignedText& text, AddedTokens::Stage stage, Encoded& out,
                               const Use& use) const {
  std::vector<AddedTokens::Part> parts;
  added_.find(text.text(), stage, parts);
  if (parts.size() == 1 && parts[0].token == nullptr) return use(text);
  for (const auto& [range, token] : parts) {
    if (token == nullptr) {
      use(text.part(range));
    } else {
      Token found{token->id, {}, -1, 0, false};
      if (text.tracked()) {
        found.origin = text.origin(range);
        if (text.text(range) != token->content) out.set_surface(found, text.text(range));
      }
      out.tokens.push_back(found);
    }
  }
}

void TokenizerModel::encode_words(const Words& words, WordCache& cache, Encoded& out) const {
  const std::string_view cut = model_->safe_cut();
  for (const Range range : words.ranges) {
    if (cut.empty()) {
      encode_word(words, range, cache, out);
      continue;
    }
    const std::string_view word = words.text.text(range);
    std::size_t from = 0;
    for (std::size_t at = word.find(cut, 1); at != std::string_view::npos;
         at = word.find(cut, at + cut.size())) {
      if (word.substr(0, at).ends_with(cut)) continue;
      encode_word(
          words,
          {range.begin + static_cast<std::uint32_t>(from), range.begin + static_cast<std::uint32_t>(at)},
          cache, out);
      from = at;
    }
    encode_word(words, {range.begin + static_cast<std::uint32_t>(from), range.end}, cache, out);
  }
}

void TokenizerModel::encode_word(const Words& words, Range range, WordCache& cache, Encoded& out) const {
  for (const Piece& piece : cache.pieces(words.text.text(range), *model_)) {
    Token token{piece.id, {}, -1, 0, false};
    if (words.text.tracked()) {
      const Range place{range.begin + piece.begin, range.begin + piece.end};
      token.origin = words.text.origin(place);
      if (unknown_surface_ == piece.id) out.set_surface(token, words.text.text(place));
    }
    out.tokens.push_back(token);
  }
}

std::string TokenizerModel::decode(std::span<const TokenId> ids, SpecialTokens special) const {
  if (sentence_piece_) return sentence_piece_->decode(ids, special);
  if (pair_) return pair_->decode(ids, special, [this](TokenId id) { return is_special(id); });
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const TokenId id : ids) {
    const AddedToken* added = added_.find(id);
    if (added == nullptr && !vocab_of(parts_.model).has(id)) continue;
    if (added != nullptr && added->special && special == SpecialTokens::leave_out) continue;
    tokens.emplace_back(token(id));
  }
  return decoder_.decode(std::move(tokens));
}

}  // namespace headlight
