#include "text/train.h"

#include <algorithm>
#include <unordered_map>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/byte_characters.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"

namespace headlight::text {
namespace {

constexpr std::string_view kText = "$A", kOtherText = "$B";

[[noreturn]] void refuse_training(ErrorKind kind, const std::string& what) {
  throw Error(kind, "tokenizer.training", concat("tokenizer training: ", what));
}

Replace single_spaces() {
  Replace step;
  step.pattern = {" {2,}", true};
  step.content = " ";
  return step;
}

// An elided article, pronoun or "que" is followed by an ordinary word; a space before that word gives it its usual token. The
// decoder removes the space.
void part_elisions(TokenizerParts& parts) {
  const std::string elided = R"((?<=\b[ldnsjtmcLDNSJTMC]|\b[qQ]u|squ)')";
  for (const NormalizerStep& step : parts.normalizer)
    if (const auto* replace = std::get_if<Replace>(&step); replace != nullptr && replace->content == "' ")
      return;  // already separated
  parts.normalizer.emplace_back(Replace{{elided + R"((?=\p{L}))", true}, "' "});
  parts.decoder.emplace_back(Replace{{elided + R"( (?=\p{L}))", true}, "'"});
}

// All steps except the model: those before and after it.
TokenizerParts frame(const TokenizerTraining& options) {
  TokenizerParts parts;
  const ByteLevel bytes{
      .add_prefix_space = false, .trim_offsets = true, .use_regex = options.kind == TokenizerKind::bpe};
  switch (options.kind) {
    case TokenizerKind::bpe:
    case TokenizerKind::bytes:
      parts.pre_tokenizer = {bytes};
      parts.decoder = {ByteLevel{}};
      parts.post_processor = {ByteLevel{.add_prefix_space = true, .trim_offsets = false, .use_regex = true}};
      break;
    case TokenizerKind::unigram:
      parts.normalizer.emplace_back(UnicodeForm::nfkc);
      parts.normalizer.emplace_back(single_spaces());
      parts.pre_tokenizer = {Metaspace{}};
      parts.decoder = {Metaspace{}};
      break;
    case TokenizerKind::word_piece:
      parts.normalizer = {BertCleaning{.lowercase = options.lowercase, .strip_accents = false}};
      parts.pre_tokenizer = {BertWords{}};
      parts.decoder = {JoinWordPieces{}};
      break;
    case TokenizerKind::characters: parts.decoder = {Fuse{}}; break;
  }
  if (options.lowercase && options.kind != TokenizerKind::word_piece)
    parts.normalizer.emplace_back(Lowercase{});
  if (options.elisions) part_elisions(parts);
  return parts;
}

struct TransparentHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return static_cast<std::size_t>(hash_of(text));
  }
};

std::vector<CountedWord> count_words(const TextSource& texts, const TokenizerParts& parts,
                                     const TokenizerTraining& options) {
  const Normalizer normalizer(parts.normalizer);
  const PreTokenizer pre_tokenizer(parts.pre_tokenizer);
  std::unordered_map<std::string, std::int64_t, TransparentHash, std::equal_to<>> counts;
  const auto count = [&](std::string_view word) {
    const auto found = counts.find(word);
    if (found != counts.end()) ++found->second;
    else counts.emplace(word, 1);
  };
  const bool single = options.kind == TokenizerKind::characters;
  std::string text;
  while (texts(text)) {
    if (options.kind == TokenizerKind::bytes) break;  // they are known
    if (options.progress) options.progress("counting words", -1);
    Words words{well_formed(text, Origins::forget), {}};
    std::size_t allowance = Normalizer::allowance(words.text.size());
    normalizer.apply(words.text, allowance);
    if (words.text.size() == 0) continue;
    words.ranges = {{0, words.text.size()}};
    if (!single) pre_tokenizer.apply(words);
    for (const Range range : words.ranges) {
      if (!single) {
        count(words.text.text(range));
        continue;
      }
      for (std::uint32_t at = range.begin; at < range.end;) {
        const std::size_t length = length_from(words.text.text()[at]);
        count(words.text.text().substr(at, length));
        at += static_cast<std::uint32_t>(length);
      }
    }
  }
  std::vector<CountedWord> sorted;
  sorted.reserve(counts.size());
  for (const auto& [word, times] : counts) sorted.push_back({word, times});
  std::sort(sorted.begin(), sorted.end(),
            [](const CountedWord& a, const CountedWord& b) { return a.word < b.word; });
  return sorted;
}

// Single characters, or bytes: a vocabulary without merges.
BpeParts train_symbols(std::vector<CountedWord> symbols, const TokenizerTraining& options) {
  BpeParts parts;
  const auto add = [&](std::string_view token) { parts.vocab.add(token, parts.vocab.size()); };
  for (const std::string& token : options.special) add(token);
  if (options.kind == TokenizerKind::bytes) {
    for (unsigned byte = 0; byte < 256; ++byte) add(to_utf8(character_of(static_cast<unsigned char>(byte))));
    return parts;
  }
  std::erase_if(symbols, [&](const CountedWord& s) { return s.count < options.min_frequency; });
  const std::size_t most = static_cast<std::size_t>(options.vocab) - options.special.size();
  if (symbols.size() > most) {
    std::stable_sort(symbols.begin(), symbols.end(),
                     [](const CountedWord& a, const CountedWord& b) { return a.count > b.count; });
    symbols.resize(most);
  }
  // UTF-8 sorts as code points do.
  std::sort(symbols.begin(), symbols.end(),
            [](const CountedWord& a, const CountedWord& b) { return a.word < b.word; });
  for (const CountedWord& symbol : symbols)
    if (!parts.vocab.find(symbol.word)) add(symbol.word);
  return parts;
}

Template template_of(const TokenizerTraining& options) {
  Template result;
  const auto id_of = [&](const std::string& token) {
    const auto found = std::find(options.special.begin(), options.special.end(), token);
    if (found == options.special.end())
      refuse_training(ErrorKind::usage, concat("the template names \"", escaped(token, 60),
                                               "\", which is not a special token"));
    return static_cast<TokenId>(found - options.special.begin());
  };
  const auto add_special = [&](const std::string& token) {
    const auto same = [&](const Template::Special& s) { return s.key == token; };
    if (std::none_of(result.specials.begin(), result.specials.end(), same))
      result.specials.push_back({token, {{token, id_of(token)}}});
  };
  std::vector<TemplatePiece> behind;  // the tokens after the text are also those after a second text
  bool text_seen = false;
  std::string_view rest = options.around;
  while (!rest.empty()) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string word(rest.substr(0, space));
    rest.remove_prefix(std::min(rest.size(), space + 1));
    if (word.empty()) continue;
    if (word == kOtherText || (word == kText && text_seen))
      refuse_training(ErrorKind::usage, "a template has $A once and no $B; pairs follow from it");
    if (word == kText) {
      text_seen = true;
      result.single.push_back({TemplatePiece::Kind::first, {}, 0});
      continue;
    }
    add_special(word);
    result.single.push_back({TemplatePiece::Kind::special, word, 0});
    if (text_seen) behind.push_back({TemplatePiece::Kind::special, word, 1});
  }
  if (!text_seen)
    refuse_training(ErrorKind::usage, "a template needs $A where the text goes, as in \"<s> $A </s>\"");
  result.pair = result.single;
  result.pair.push_back({TemplatePiece::Kind::second, {}, 1});
  result.pair.insert(result.pair.end(), behind.begin(), behind.end());
  return result;
}

std::optional<TokenId> unknown_of(const std::vector<std::string>& special) {
  for (const std::string_view name : {"<unk>", "[UNK]", "<|unk|>", "<UNK>"}) {
    const auto found = std::find(special.begin(), special.end(), name);
    if (found != special.end()) return static_cast<TokenId>(found - special.begin());
  }
  return std::nullopt;
}

void check(const TokenizerTraining& options) {
  const bool bytes = options.kind == TokenizerKind::bpe || options.kind == TokenizerKind::bytes;
  const std::size_t least = options.special.size() + (bytes ? 256 : 1);
  if (options.vocab < 0 || static_cast<std::size_t>(options.vocab) < least)
    refuse_training(ErrorKind::usage,
                    concat("a vocabulary of ", options.vocab, " is too small for ", options.special.size(),
                           " special tokens", bytes ? " and 256 bytes" : "", "; at least ", least));
  if (options.elisions && options.kind != TokenizerKind::bpe)
    refuse_training(ErrorKind::usage, "elisions need the kind \"bpe\"");
  std::vector<std::string> sorted = options.special;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    refuse_training(ErrorKind::usage, "a special token is named twice");
  for (const std::string& token : sorted) {
    if (token.empty() || !is_well_formed(token))
      refuse_training(ErrorKind::usage, "a special token is empty or not UTF-8");
    if (count_characters(token) == 1)
      refuse_training(ErrorKind::usage,
                      concat("\"", escaped(token), "\" is a single character; special tokens need a name"));
  }
  if (!bytes && !unknown_of(options.special))
    refuse_training(ErrorKind::usage, "this kind needs a special token \"<unk>\" for unknown text");
}

}  // namespace

std::vector<std::string> usual_special_tokens(TokenizerKind kind) {
  if (kind == TokenizerKind::word_piece) return {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  return {"<pad>", "<s>", "</s>", "<unk>", "<mask>"};
}

Tokenizer with_elisions(const Tokenizer& tokenizer) {
  TokenizerParts parts = parts_of(tokenizer);
  part_elisions(parts);
  return make_tokenizer(std::move(parts));
}

Tokenizer with_end(const Tokenizer& tokenizer, TokenId end) {
  const std::vector<TokenId> ids = tokenizer.encode("a");
  if (!ids.empty() && ids.back() == end) return tokenizer;
  TokenizerParts parts = parts_of(tokenizer);
  const std::string name(tokenizer.token(end));
  const TemplatePiece last{.kind = TemplatePiece::Kind::special, .special = name};
  const TemplatePiece first{.kind = TemplatePiece::Kind::first}, second{.kind = TemplatePiece::Kind::second};
  parts.post_processor.emplace_back(Template{
      .single = {first, last}, .pair = {first, last, second, last}, .specials = {{name, {{name, end}}}}});
  return make_tokenizer(std::move(parts));
}

Tokenizer train_tokenizer(const TextSource& texts, const TokenizerTraining& options) {
  check(options);
  TokenizerParts parts = frame(options);
  if (!options.around.empty()) parts.post_processor = {template_of(options)};
  std::vector<CountedWord> words = count_words(texts, parts, options);
  if (words.empty() && options.kind != TokenizerKind::bytes)
    refuse_training(ErrorKind::input, "the texts are empty");
  const auto unknown = unknown_of(options.special);
  switch (options.kind) {
    case TokenizerKind::bpe: parts.model = train_bpe(words, options); break;
    case TokenizerKind::word_piece: parts.model = train_word_piece(words, options); break;
    case TokenizerKind::unigram: parts.model = train_unigram(words, options); break;
    case TokenizerKind::characters:
    case TokenizerKind::bytes: parts.model = train_symbols(std::move(words), options); break;
  }
  for (std::size_t i = 0; i < options.special.size(); ++i)
    parts.added.push_back({.id = static_cast<TokenId>(i), .content = options.special[i], .special = true});
  const auto name = [&] { return options.special[static_cast<std::size_t>(*unknown)]; };
  if (auto* unigram = std::get_if<UnigramParts>(&parts.model)) unigram->unknown = unknown;
  if (auto* pieces = std::get_if<WordPieceParts>(&parts.model)) pieces->unknown = name();
  if (auto* bpe = std::get_if<BpeParts>(&parts.model);
      bpe != nullptr && options.kind == TokenizerKind::characters)
    bpe->unknown = name();
  return make_tokenizer(std::move(parts));
}

}  // namespace headlight::text
