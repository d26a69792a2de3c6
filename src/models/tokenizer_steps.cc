#include "models/tokenizer_steps.h"

#include <array>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/unicode.h"

namespace headlight::models {
namespace {

using namespace text;
using io::Json;

[[noreturn]] void refuse(const Json& json, const std::string& what) {
  throw Error(ErrorKind::input, "tokenizer.form", concat(escaped(json.file()), ": ", what));
}
[[noreturn]] void refuse_type(const Json& json, std::string_view section) {
  refuse(json, concat("the ", section, " \"", escaped(json.text("type"), 60), "\" is not supported"));
}

template <class T, std::size_t N>
T one_of(const Json& json, std::string_view key, const std::array<std::pair<std::string_view, T>, N>& names) {
  const std::string& text = json.text(key);
  for (const auto& [name, value] : names)
    if (name == text) return value;
  refuse(json, concat("\"", key, "\" is \"", escaped(text, 60), "\", which is not supported"));
}

bool given(const Json* json) { return json != nullptr && !json->is(Json::Kind::null); }

// Sequences are flattened in a loop, without recursion, because the file determines their depth.
template <class Step, class Read>
std::vector<Step> flatten(const Json* section, std::string_view list_name, const Read& read) {
  std::vector<Step> steps;
  if (!given(section)) return steps;
  std::vector<const Json*> todo = {section};
  while (!todo.empty()) {
    const Json* next = todo.back();
    todo.pop_back();
    if (next->text("type") != "Sequence") {
      steps.push_back(read(*next));
      continue;
    }
    const std::span<const Json> items = next->list(list_name).items();
    for (auto item = items.rbegin(); item != items.rend(); ++item) todo.push_back(&*item);
  }
  return steps;
}

Pattern read_pattern(const Json& step) {
  const Json& pattern = step.object("pattern");
  if (pattern.find("String") != nullptr) return {pattern.text("String"), false};
  return {pattern.text("Regex"), true};
}

Replace read_replace(const Json& step) { return {read_pattern(step), step.text("content")}; }

ByteLevel read_byte_level(const Json& step) {
  return {step.boolean_or("add_prefix_space", true), step.boolean_or("trim_offsets", true),
          step.boolean_or("use_regex", true)};
}

// JSON is UTF-8: the first byte determines the length of a character.
void check_character(const Json& step, const std::string& text, std::string_view key) {
  if (text.empty() || text.size() != length_from(text[0]))
    refuse(step, concat("\"", key, "\" is \"", escaped(text, 40), "\"; it must be one character"));
}

Metaspace read_metaspace(const Json& step) {
  static constexpr std::array<std::pair<std::string_view, PrependScheme>, 3> kSchemes = {
      {{"always", PrependScheme::always}, {"first", PrependScheme::first}, {"never", PrependScheme::never}}};
  Metaspace metaspace;
  metaspace.replacement = step.text_or("replacement", metaspace.replacement);
  check_character(step, metaspace.replacement, "replacement");
  metaspace.split = step.boolean_or("split", true);
  if (given(step.find("prepend_scheme"))) metaspace.scheme = one_of(step, "prepend_scheme", kSchemes);
  else if (!step.boolean_or("add_prefix_space", true)) metaspace.scheme = PrependScheme::never;
  return metaspace;
}

SplitBehavior read_behavior(const Json& step) {
  static constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {
      {{"Removed", SplitBehavior::removed},
       {"Isolated", SplitBehavior::isolated},
       {"MergedWithPrevious", SplitBehavior::merged_with_previous},
       {"MergedWithNext", SplitBehavior::merged_with_next},
       {"Contiguous", SplitBehavior::contiguous}}};
  return one_of(step, "behavior", kNames);
}

std::string read_base64(const Json& step, std::string_view key) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string text = step.text_or(key, "");
  const std::size_t end = text.find_last_not_of('=') + 1;  // 0 without further fields
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : std::string_view(text).substr(0, end)) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) refuse(step, concat("\"", key, "\" is not base64"));
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> count));
    }
  }
  return bytes;
}

NormalizerStep read_normalizer_step(const Json& step) {
  const std::string& type = step.text("type");
  if (type == "NFC") return UnicodeForm::nfc;
  if (type == "NFD") return UnicodeForm::nfd;
  if (type == "NFKC") return UnicodeForm::nfkc;
  if (type == "NFKD") return UnicodeForm::nfkd;
  if (type == "Lowercase") return Lowercase{};
  if (type == "StripAccents") return StripAccents{};
  if (type == "Replace") return read_replace(step);
  if (type == "Prepend") return Prepend{step.text("prepend")};
  if (type == "Strip")
    return StripEnds{step.boolean_or("strip_left", true), step.boolean_or("strip_right", true)};
  if (type == "Precompiled") return Charsmap{read_base64(step, "precompiled_charsmap")};
  if (type == "Nmt") return NmtCleaning{};
  if (type == "ByteLevel") return BytesAsCharacters{};
  if (type != "BertNormalizer") refuse_type(step, "normalizer");
  BertCleaning bert;
  bert.clean_text = step.boolean_or("clean_text", true);
  bert.chinese = step.boolean_or("handle_chinese_chars", true);
  bert.lowercase = step.boolean_or("lowercase", true);
  if (given(step.find("strip_accents"))) bert.strip_accents = step.boolean("strip_accents");
  return bert;
}

PreTokenizerStep read_pre_tokenizer_step(const Json& step) {
  const std::string& type = step.text("type");
  if (type == "ByteLevel") return read_byte_level(step);
  if (type == "Whitespace") return WordsAndSigns{};
  if (type == "WhitespaceSplit") return WhitespaceSplit{};
  if (type == "BertPreTokenizer") return BertWords{};
  if (type == "Metaspace") return read_metaspace(step);
  if (type == "Split")
    return Split{read_pattern(step), read_behavior(step), step.boolean_or("invert", false)};
  if (type == "Digits") return Digits{step.boolean_or("individual_digits", false)};
  if (type == "Punctuation")
    return Punctuation{given(step.find("behavior")) ? read_behavior(step) : SplitBehavior::isolated};
  if (type == "CharDelimiterSplit") {
    check_character(step, step.text("delimiter"), "delimiter");
    return Delimiter{step.text("delimiter")};
  }
  refuse_type(step, "pre-tokenizer");
}

TokenId read_id(const Json& json) {
  const std::int64_t id = json.integer();
  if (id < 0 || id > 0x7FFFFFFF) refuse(json, concat("the token id ", id, " is out of range"));
  return static_cast<TokenId>(id);
}

NamedToken read_named(const Json& step, std::string_view key) {
  const std::span<const Json> pair = step.list(key).items();
  if (pair.size() != 2) refuse(step, concat("\"", key, "\" is not a pair of token and id"));
  return {pair[0].text(), read_id(pair[1])};
}

std::int32_t read_type_id(const Json& piece) {
  const std::int64_t id = piece.integer_or("type_id", 0);
  if (id < 0 || id > 255) refuse(piece, concat("the type id ", id, " is out of range"));
  return static_cast<std::int32_t>(id);
}

std::vector<TemplatePiece> read_template_pieces(const Json& step, std::string_view key) {
  std::vector<TemplatePiece> pieces;
  for (const Json& item : step.list(key).items()) {
    if (const Json* special = item.find("SpecialToken")) {
      pieces.push_back({TemplatePiece::Kind::special, special->text("id"), read_type_id(*special)});
      continue;
    }
    const Json& sequence = item.object("Sequence");
    const std::string& id = sequence.text("id");
    if (id != "A" && id != "B") refuse(step, concat("the template has a sequence \"", escaped(id, 60), "\""));
    pieces.push_back(
        {id == "A" ? TemplatePiece::Kind::first : TemplatePiece::Kind::second, {}, read_type_id(sequence)});
  }
  if (pieces.size() > 1000) refuse(step, "the template is too long");
  return pieces;
}

Template read_template(const Json& step) {
  Template result;
  result.single = read_template_pieces(step, "single");
  result.pair = read_template_pieces(step, "pair");
  for (const Json& entry : step.object("special_tokens").items()) {
    Template::Special special{entry.text("id"), {}};
    const std::span<const Json> ids = entry.list("ids").items(), tokens = entry.list("tokens").items();
    if (ids.size() != tokens.size())
      refuse(step, "a special token of the template has more ids than tokens, or fewer");
    for (std::size_t i = 0; i < ids.size(); ++i)
      special.tokens.push_back({tokens[i].text(), read_id(ids[i])});
    result.specials.push_back(std::move(special));
  }
  return result;
}

PostProcessorStep read_post_processor_step(const Json& step) {
  const std::string& type = step.text("type");
  if (type == "TemplateProcessing") return read_template(step);
  if (type == "BertProcessing") return BertEnds{read_named(step, "sep"), read_named(step, "cls")};
  if (type == "RobertaProcessing")
    return RobertaEnds{read_named(step, "sep"), read_named(step, "cls"),
                       step.boolean_or("trim_offsets", true), step.boolean_or("add_prefix_space", true)};
  if (type == "ByteLevel") return read_byte_level(step);
  refuse_type(step, "post-processor");
}

std::size_t read_count(const Json& step, std::string_view key) {
  const std::int64_t count = step.integer_or(key, 0);
  if (count < 0 || count > 1'000'000) refuse(step, concat("\"", key, "\" is ", count));
  return static_cast<std::size_t>(count);
}

DecoderStep read_decoder_step(const Json& step) {
  const std::string& type = step.text("type");
  if (type == "ByteLevel") return read_byte_level(step);
  if (type == "Metaspace") return read_metaspace(step);
  if (type == "WordPiece")
    return JoinWordPieces{step.text_or("prefix", "##"), step.boolean_or("cleanup", true)};
  if (type == "BPEDecoder") return JoinSuffixed{step.text_or("suffix", "</w>")};
  if (type == "ByteFallback") return JoinBytes{};
  if (type == "Fuse") return Fuse{};
  if (type == "Replace") return read_replace(step);
  if (type == "Strip") {
    StripCharacters strip{step.text_or("content", " "), read_count(step, "start"), read_count(step, "stop")};
    check_character(step, strip.content, "content");
    return strip;
  }
  if (type == "CTC")
    return JoinCtc{step.text_or("pad_token", "<pad>"), step.text_or("word_delimiter_token", "|"),
                   step.boolean_or("cleanup", true)};
  refuse_type(step, "decoder");
}

}  // namespace

std::vector<NormalizerStep> read_normalizer(const Json* section) {
  return flatten<NormalizerStep>(section, "normalizers", read_normalizer_step);
}
std::vector<PreTokenizerStep> read_pre_tokenizer(const Json* section) {
  return flatten<PreTokenizerStep>(section, "pretokenizers", read_pre_tokenizer_step);
}
std::vector<PostProcessorStep> read_post_processor(const Json* section) {
  return flatten<PostProcessorStep>(section, "processors", read_post_processor_step);
}
std::vector<DecoderStep> read_decoder(const Json* section) {
  return flatten<DecoderStep>(section, "decoders", read_decoder_step);
}

}  // namespace headlight::models
