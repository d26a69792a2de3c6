#include "models/tokenizer_gguf.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/gguf_cuts.h"
#include "models/tokenizer_vocab.h"

namespace headlight::models {
namespace {

using namespace text;

constexpr std::string_view kMetaspace = "\u2581";
enum TokenType : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

[[noreturn]] void refuse_gguf_tokenizer(const std::string& name, std::string_view code,
                                        const std::string& what) {
  throw Error(ErrorKind::input, concat("gguf.", code), concat(escaped(name), ": ", what));
}

std::int32_t type_of(const GgufVocabulary& from, std::size_t id) {
  return from.types.empty() ? std::int32_t{kNormal} : from.types[id];
}

void check(const GgufVocabulary& from, const std::string& name) {
  if (from.tokens.empty()) refuse_gguf_tokenizer(name, "tokens", "the vocabulary is empty");
  const auto same = [&](std::size_t count, const char* what) {
    if (count != from.tokens.size())
      refuse_gguf_tokenizer(name, "tokens", concat(from.tokens.size(), " tokens, but ", count, " ", what));
  };
  if (!from.types.empty()) same(from.types.size(), "types");
  if (from.model == "llama" || from.model == "t5") same(from.scores.size(), "scores");
  for (const std::int32_t type : from.types)
    if (type < kNormal || type > kByte)
      refuse_gguf_tokenizer(name, "tokens", concat("a token is of type ", type));
  for (const auto& id : {from.begin, from.end, from.unknown, from.separator, from.classifier})
    if (id && (*id < 0 || static_cast<std::size_t>(*id) >= from.tokens.size()))
      refuse_gguf_tokenizer(
          name, "token_id",
          concat("a special token has the id ", *id, " in a vocabulary of ", from.tokens.size()));
}

// Special tokens around the text, if the file specifies them.
void add_ends(const GgufVocabulary& from, bool begin_usual, TokenizerParts& parts) {
  const bool begin = from.begin && from.add_begin.value_or(begin_usual),
             end = from.end && from.add_end.value_or(false);
  if (!begin && !end) return;
  Template around;
  const auto add = [&](TokenId id) {
    const std::string& token = from.tokens[static_cast<std::size_t>(id)];
    if (std::none_of(around.specials.begin(), around.specials.end(),
                     [&](const auto& s) { return s.key == token; }))
      around.specials.push_back({token, {{token, id}}});
    around.single.push_back({TemplatePiece::Kind::special, token, 0});
  };
  if (begin) add(*from.begin);
  around.single.push_back({TemplatePiece::Kind::first, {}, 0});
  if (end) add(*from.end);
  around.pair = around.single;
  for (const TemplatePiece& piece : around.single) {
    around.pair.push_back(piece);
    if (piece.kind == TemplatePiece::Kind::first) around.pair.back().kind = TemplatePiece::Kind::second;
  }
  parts.post_processor.emplace_back(std::move(around));
}

TokenizerParts sentence_piece(const GgufVocabulary& from, const std::string& name) {
  SentencePieceParts model;
  model.kind = from.model == "t5" ? SentencePieceParts::Kind::unigram : SentencePieceParts::Kind::bpe;
  model.vocab.reserve(from.tokens.size());
  const auto first_unknown =
      static_cast<TokenId>(std::find(from.types.begin(), from.types.end(), kUnknown) - from.types.begin());
  const TokenId unknown = from.unknown.value_or(from.types.empty() ? 0 : first_unknown);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < from.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    add_token(model.vocab, from.tokens[i], id, name);
    // One unknown token; further ones of that type are padding, to which no text is tokenized.
    const std::int32_t type = id == unknown                  ? kUnknown
                              : type_of(from, i) == kUnknown ? kControl
                                                             : type_of(from, i);
    model.types.push_back(static_cast<SentencePieceParts::Type>(type - 1));
    bytes += type == kByte ? 1 : 0;
  }
  model.scores = from.scores;
  model.byte_fallback = bytes == 256;
  model.charsmap = from.charsmap;
  model.add_dummy_prefix = from.add_space_prefix;
  model.remove_extra_spaces = from.remove_extra_spaces;
  TokenizerParts parts;
  parts.model = std::move(model);
  add_ends(from, from.model == "llama", parts);
  return parts;
}

TokenizerParts byte_level(const GgufVocabulary& from, const std::string& name) {
  const GgufCut& cut = gguf_cut(from.pre, name);
  BpeParts bpe;
  bpe.vocab.reserve(from.tokens.size());
  TokenizerParts parts;
  for (std::size_t i = 0; i < from.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    add_token(bpe.vocab, from.tokens[i], id, name);
    const std::int32_t type = type_of(from, i);
    if (type == kControl || type == kUserDefined)
      parts.added.push_back({.id = id, .content = from.tokens[i], .special = type == kControl});
  }
  for (const std::string& merge : from.merges) bpe.merges.push_back(merge_of(merge, bpe, name));
  bpe.ignore_merges = cut.ignore_merges;
  parts.model = std::move(bpe);
  for (const std::string& pattern : cut.patterns) {
    Split split;
    split.pattern = {pattern, true};
    parts.pre_tokenizer.emplace_back(std::move(split));
  }
  parts.pre_tokenizer.emplace_back(ByteLevel{.add_prefix_space = false, .use_regex = false});
  parts.decoder = {ByteLevel{}};
  add_ends(from, cut.add_begin, parts);
  return parts;
}

// The file marks beginnings of words ("▁the"); BERT marks continuations ("##the").
TokenizerParts bert(const GgufVocabulary& from, const std::string& name) {
  WordPieceParts model;
  model.longest_word = 1'000'000;
  TokenizerParts parts;
  for (std::size_t i = 0; i < from.tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string& token = from.tokens[i];
    std::string own = token;
    if (type_of(from, i) == kControl) parts.added.push_back({.id = id, .content = token, .special = true});
    else if (token.starts_with(kMetaspace)) own = token.substr(kMetaspace.size());
    else if (!(token.starts_with('[') && token.size() > 2 && token.ends_with(']'))) own = "##" + token;
    add_token(model.vocab, own, id, name);
  }
  if (from.unknown) model.unknown = model.vocab.token(*from.unknown);
  parts.model = std::move(model);
  parts.normalizer = {BertCleaning{}};
  parts.pre_tokenizer = {BertWords{}};
  parts.decoder = {JoinWordPieces{}};
  if (from.separator && from.classifier) {
    const auto named = [&](TokenId id) { return NamedToken{from.tokens[static_cast<std::size_t>(id)], id}; };
    parts.post_processor = {BertEnds{named(*from.separator), named(*from.classifier)}};
  }
  return parts;
}

}  // namespace

Tokenizer tokenizer_from_gguf(const GgufVocabulary& from, const std::string& name) {
  check(from, name);
  if (from.model == "llama" || from.model == "t5")
    return make_named_tokenizer(sentence_piece(from, name), name);
  if (from.model == "gpt2") return make_named_tokenizer(byte_level(from, name), name);
  if (from.model == "bert") return make_named_tokenizer(bert(from, name), name);
  refuse_gguf_tokenizer(name, "model",
                        concat("the tokenizer \"", escaped(from.model, 40),
                               "\" is not supported; llama, gpt2, bert and t5 are"));
}

}  // namespace headlight::models
