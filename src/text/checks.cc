#include "text/checks.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/added_tokens.h"
#include "text/byte_characters.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::size_t kMostSteps = 256;  // steps of one kind; real tokenizers have a handful

template <class... Parts>
[[noreturn]] void refuse(std::string_view code, const Parts&... parts) {
  throw Error(ErrorKind::input, concat("tokenizer.", code), concat("tokenizer: ", parts...));
}

std::string quoted(std::string_view token) { return concat("\"", escaped(token, 60), "\""); }

void check_model(const BpeParts& model) {
  for (const BpeParts::Merge& merge : model.merges)
    if (!model.vocab.has(merge.left) || !model.vocab.has(merge.right) || !model.vocab.has(merge.result))
      refuse("merge", "a merge names a token that is not in the vocabulary");
  if (model.unknown && !model.vocab.find(*model.unknown))
    refuse("unknown", "the unknown token ", quoted(*model.unknown), " is not in the vocabulary");
}

void check_lengths(const TokenTable& vocab) {
  for (TokenId id = 0; id < vocab.size(); ++id)
    if (vocab.token(id).size() > kLongestToken)
      refuse("vocab", "token ", id, " is ", vocab.token(id).size(), " bytes long; the limit is ",
             kLongestToken);
}

void check_model(const UnigramParts& model) {
  check_lengths(model.vocab);
  if (model.vocab.count() == 0) refuse("vocab", "the vocabulary is empty");
  if (model.scores.size() != static_cast<std::size_t>(model.vocab.size()))
    refuse("scores", model.scores.size(), " scores for ", model.vocab.size(), " tokens");
  for (const double score : model.scores)
    if (!std::isfinite(score)) refuse("scores", "a score is not a finite number");
  if (model.unknown && !model.vocab.has(*model.unknown))
    refuse("unknown", "the unknown token's id ", *model.unknown, " is not in the vocabulary");
}

void check_model(const WordPieceParts& model) { check_lengths(model.vocab); }
void check_model(const WordLevelParts&) {}

void check_model(const SentencePieceParts& model) {
  check_lengths(model.vocab);
  using Type = SentencePieceParts::Type;
  const auto size = static_cast<std::size_t>(model.vocab.size());
  if (model.scores.size() != size || model.types.size() != size || model.vocab.count() != size)
    refuse("pieces", size, " pieces with ", model.scores.size(), " scores and ", model.types.size(),
           " types");
  for (const float score : model.scores)
    if (!std::isfinite(score)) refuse("scores", "a score is not a finite number");
  if (std::count(model.types.begin(), model.types.end(), Type::unknown) != 1)
    refuse("unknown", "there must be exactly one unknown piece");
  if (model.unknown_surface.size() > kLongestToken)
    refuse("unknown", "unknown tokens decode to ", model.unknown_surface.size(), " bytes; the limit is ",
           kLongestToken);
  std::vector<bool> seen(256);
  for (TokenId id = 0; id < model.vocab.size(); ++id) {
    const Type type = model.types[static_cast<std::size_t>(id)];
    const std::string_view piece = model.vocab.token(id);
    if (piece.empty()) refuse("pieces", "piece ", id, " is empty");
    if (type != Type::byte) continue;
    const auto byte = byte_named(piece);
    if (!byte)
      refuse("byte", "piece ", id, ", ", quoted(piece),
             ", is marked as a byte, but is not one of <0x00> to <0xFF>");
    if (seen[*byte]) refuse("byte", "two pieces are the byte ", quoted(piece));
    seen[*byte] = true;
  }
  if (model.byte_fallback && std::count(seen.begin(), seen.end(), true) != 256)
    refuse("byte", "byte fallback needs a piece for each of 256 bytes");
}

void check_model(const SentencePairParts& model) {
  check_model(model.source);
  check_model(model.target);
  check_lengths(model.vocab);
  if (!model.vocab.has(model.unknown))
    refuse("unknown", "the unknown token's id ", model.unknown, " is not in the vocabulary");
}

// Every id has one token, added or not.
void check_added(const TokenizerParts& parts, const TokenTable& vocab) {
  std::unordered_map<std::string_view, TokenId> contents;
  std::unordered_map<TokenId, std::string_view> ids;
  const std::size_t most = 4 * (vocab.count() + parts.added.size()) + 4096;
  for (const AddedToken& token : parts.added) {
    if (token.id < 0 || static_cast<std::size_t>(token.id) >= most)
      refuse("added", "added token ", quoted(token.content), " has the id ", token.id,
             ", far outside of a vocabulary of ", vocab.count());
    if (!is_well_formed(token.content)) refuse("added", "added token ", token.id, " is not UTF-8");
    const auto [by_id, new_id] = ids.emplace(token.id, token.content);
    if (!new_id)
      refuse("added", "id ", token.id, " is given to ", quoted(by_id->second), " and ",
             quoted(token.content));
    if (!contents.emplace(token.content, token.id).second)
      refuse("added", "added token ", quoted(token.content), " occurs twice");
    if (vocab.has(token.id) && vocab.token(token.id) != token.content)
      refuse("added", "id ", token.id, " is ", quoted(vocab.token(token.id)), " in the vocabulary and ",
             quoted(token.content), " among the added tokens");
    if (const auto known = vocab.find(token.content); known && *known != token.id)
      refuse("added", "token ", quoted(token.content), " has the id ", *known, " in the vocabulary and ",
             token.id, " among the added tokens");
  }
}

class PostChecks {
 public:
  explicit PostChecks(const TokenizerParts& parts, const TokenTable& vocab) : vocab_(vocab) {
    for (const AddedToken& token : parts.added) added_.emplace(token.id, token.content);
  }

  void token(const NamedToken& token) const {
    const auto added = added_.find(token.id);
    if (added == added_.end() && !vocab_.has(token.id))
      refuse("template", "the post-processor's token ", quoted(token.token), " has the id ", token.id,
             ", which is not in the vocabulary");
  }
  void step(const ByteLevel&) const {}
  void step(const BertEnds& ends) const {
    token(ends.separator);
    token(ends.classifier);
  }
  void step(const RobertaEnds& ends) const {
    token(ends.separator);
    token(ends.classifier);
  }
  void step(const Template& from) const {
    std::unordered_set<std::string_view> keys;
    for (const Template::Special& special : from.specials) {
      keys.insert(special.key);
      for (const NamedToken& one : special.tokens) token(one);
    }
    for (const auto* pieces : {&from.single, &from.pair}) {
      for (const TemplatePiece::Kind kind : {TemplatePiece::Kind::first, TemplatePiece::Kind::second})
        if (std::count_if(pieces->begin(), pieces->end(),
                          [&](const TemplatePiece& p) { return p.kind == kind; }) > 1)
          refuse("template", "the template uses a text twice");
      for (const TemplatePiece& piece : *pieces) {
        if (piece.kind == TemplatePiece::Kind::special && !keys.contains(piece.special))
          refuse("template", "the template names ", quoted(piece.special),
                 ", which is not among its special tokens");
        if (piece.kind == TemplatePiece::Kind::second && pieces == &from.single)
          refuse("template", "the template for one text asks for a second one");
      }
    }
  }

 private:
  const TokenTable& vocab_;
  std::unordered_map<TokenId, std::string_view> added_;
};

}  // namespace

void check_parts(const TokenizerParts& parts) {
  const TokenTable& vocab = vocab_of(parts.model);
  for (const std::size_t steps : {parts.normalizer.size(), parts.pre_tokenizer.size(),
                                  parts.post_processor.size(), parts.decoder.size()})
    if (steps > kMostSteps) refuse("steps", "a sequence of ", steps, " steps; the limit is ", kMostSteps);
  for (TokenId id = 0; id < vocab.size(); ++id)
    if (!is_well_formed(vocab.token(id))) refuse("vocab", "token ", id, " is not UTF-8");
  std::visit([](const auto& model) { check_model(model); }, parts.model);
  check_added(parts, vocab);
  const PostChecks checks(parts, vocab);
  const auto adds_tokens = [](const PostProcessorStep& step) {
    return !std::holds_alternative<ByteLevel>(step);
  };
  if (std::count_if(parts.post_processor.begin(), parts.post_processor.end(), adds_tokens) > 1)
    refuse("template", "more than one post-processor adds tokens");
  for (const PostProcessorStep& step : parts.post_processor)
    std::visit([&](const auto& settings) { checks.step(settings); }, step);
}

}  // namespace headlight::text
