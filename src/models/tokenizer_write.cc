// Tokenizer to tokenizer.json, in the form that Hugging Face's library writes and reads.
#include <fmt/format.h>

#include <variant>

#include "headlight/error.h"
#include "models/tokenizer_file.h"
#include "text/parts.h"

namespace headlight::models {
namespace {

using namespace text;
using io::json_quoted;

const char* boolean(bool value) { return value ? "true" : "false"; }

std::string pattern_json(const Pattern& pattern) {
  return fmt::format("{{\"{}\": {}}}", pattern.regex ? "Regex" : "String", json_quoted(pattern.text));
}
std::string byte_level_json(const ByteLevel& step) {
  return fmt::format(
      R"({{"type": "ByteLevel", "add_prefix_space": {}, "trim_offsets": {}, "use_regex": {}}})",
      step.add_prefix_space, step.trim_offsets, step.use_regex);
}
std::string metaspace_json(const Metaspace& step) {
  constexpr const char* schemes[] = {"always", "first", "never"};
  return fmt::format(R"({{"type": "Metaspace", "replacement": {}, "prepend_scheme": "{}", "split": {}}})",
                     json_quoted(step.replacement), schemes[static_cast<std::size_t>(step.scheme)],
                     step.split);
}
std::string replace_json(const Replace& step) {
  return fmt::format(R"({{"type": "Replace", "pattern": {}, "content": {}}})", pattern_json(step.pattern),
                     json_quoted(step.content));
}
const char* behavior_name(SplitBehavior behavior) {
  constexpr const char* names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                   "Contiguous"};
  return names[static_cast<std::size_t>(behavior)];
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t b = 0; b < 3; ++b)
      group = group << 8 | (b < count ? static_cast<unsigned char>(bytes[i + b]) : 0U);
    for (std::size_t d = 0; d < 4; ++d) out += d <= count ? digits[group >> (18 - 6 * d) & 63U] : '=';
  }
  return out;
}

struct StepJson {
  std::string operator()(UnicodeForm form) const {
    constexpr const char* names[] = {"NFC", "NFD", "NFKC", "NFKD"};
    return fmt::format(R"({{"type": "{}"}})", names[static_cast<std::size_t>(form)]);
  }
  std::string operator()(const Lowercase&) const { return R"({"type": "Lowercase"})"; }
  std::string operator()(const StripAccents&) const { return R"({"type": "StripAccents"})"; }
  std::string operator()(const BertCleaning& step) const {
    return fmt::format(
        R"({{"type": "BertNormalizer", "clean_text": {}, "handle_chinese_chars": {}, "strip_accents": {}, "lowercase": {}}})",
        step.clean_text, step.chinese, step.strip_accents ? boolean(*step.strip_accents) : "null",
        step.lowercase);
  }
  std::string operator()(const Replace& step) const { return replace_json(step); }
  std::string operator()(const Prepend& step) const {
    return fmt::format(R"({{"type": "Prepend", "prepend": {}}})", json_quoted(step.text));
  }
  std::string operator()(const StripEnds& step) const {
    return fmt::format(R"({{"type": "Strip", "strip_left": {}, "strip_right": {}}})", step.left, step.right);
  }
  std::string operator()(const Charsmap& step) const {
    return fmt::format(R"({{"type": "Precompiled", "precompiled_charsmap": "{}"}})", base64(step.bytes));
  }
  std::string operator()(const NmtCleaning&) const { return R"({"type": "Nmt"})"; }
  std::string operator()(const BytesAsCharacters&) const { return R"({"type": "ByteLevel"})"; }

  std::string operator()(const ByteLevel& step) const { return byte_level_json(step); }
  std::string operator()(const WordsAndSigns&) const { return R"({"type": "Whitespace"})"; }
  std::string operator()(const WhitespaceSplit&) const { return R"({"type": "WhitespaceSplit"})"; }
  std::string operator()(const BertWords&) const { return R"({"type": "BertPreTokenizer"})"; }
  std::string operator()(const Metaspace& step) const { return metaspace_json(step); }
  std::string operator()(const Split& step) const {
    return fmt::format(R"({{"type": "Split", "pattern": {}, "behavior": "{}", "invert": {}}})",
                       pattern_json(step.pattern), behavior_name(step.behavior), step.invert);
  }
  std::string operator()(const Digits& step) const {
    return fmt::format(R"({{"type": "Digits", "individual_digits": {}}})", step.individual);
  }
  std::string operator()(const Punctuation& step) const {
    return fmt::format(R"({{"type": "Punctuation", "behavior": "{}"}})", behavior_name(step.behavior));
  }
  std::string operator()(const Delimiter& step) const {
    return fmt::format(R"({{"type": "CharDelimiterSplit", "delimiter": {}}})", json_quoted(step.character));
  }

  std::string operator()(const BertEnds& step) const {
    return fmt::format(R"({{"type": "BertProcessing", "sep": [{}, {}], "cls": [{}, {}]}})",
                       json_quoted(step.separator.token), step.separator.id,
                       json_quoted(step.classifier.token), step.classifier.id);
  }
  std::string operator()(const RobertaEnds& step) const {
    return fmt::format(
        R"({{"type": "RobertaProcessing", "sep": [{}, {}], "cls": [{}, {}], "trim_offsets": {}, "add_prefix_space": {}}})",
        json_quoted(step.separator.token), step.separator.id, json_quoted(step.classifier.token),
        step.classifier.id, step.trim_offsets, step.add_prefix_space);
  }
  std::string operator()(const Template& step) const {
    std::string specials;
    for (const Template::Special& special : step.specials) {
      std::string ids, tokens;
      for (const NamedToken& token : special.tokens) {
        ids += fmt::format("{}{}", ids.empty() ? "" : ", ", token.id);
        tokens += fmt::format("{}{}", tokens.empty() ? "" : ", ", json_quoted(token.token));
      }
      specials +=
          fmt::format(R"({}{}: {{"id": {}, "ids": [{}], "tokens": [{}]}})", specials.empty() ? "" : ", ",
                      json_quoted(special.key), json_quoted(special.key), ids, tokens);
    }
    return fmt::format(
        R"({{"type": "TemplateProcessing", "single": [{}], "pair": [{}], "special_tokens": {{{}}}}})",
        template_pieces(step.single), template_pieces(step.pair), specials);
  }
  static std::string template_pieces(const std::vector<TemplatePiece>& pieces) {
    std::string out;
    for (const TemplatePiece& piece : pieces) {
      const bool special = piece.kind == TemplatePiece::Kind::special;
      const std::string id = special                                    ? json_quoted(piece.special)
                             : piece.kind == TemplatePiece::Kind::first ? "\"A\""
                                                                        : "\"B\"";
      out += fmt::format(R"({}{{"{}": {{"id": {}, "type_id": {}}}}})", out.empty() ? "" : ", ",
                         special ? "SpecialToken" : "Sequence", id, piece.type_id);
    }
    return out;
  }

  std::string operator()(const JoinWordPieces& step) const {
    return fmt::format(R"({{"type": "WordPiece", "prefix": {}, "cleanup": {}}})", json_quoted(step.prefix),
                       step.cleanup);
  }
  std::string operator()(const JoinSuffixed& step) const {
    return fmt::format(R"({{"type": "BPEDecoder", "suffix": {}}})", json_quoted(step.suffix));
  }
  std::string operator()(const JoinBytes&) const { return R"({"type": "ByteFallback"})"; }
  std::string operator()(const Fuse&) const { return R"({"type": "Fuse"})"; }
  std::string operator()(const StripCharacters& step) const {
    return fmt::format(R"({{"type": "Strip", "content": {}, "start": {}, "stop": {}}})",
                       json_quoted(step.content), step.start, step.stop);
  }
  std::string operator()(const JoinCtc& step) const {
    return fmt::format(R"({{"type": "CTC", "pad_token": {}, "word_delimiter_token": {}, "cleanup": {}}})",
                       json_quoted(step.pad), json_quoted(step.word_delimiter), step.cleanup);
  }
};

// null, one step, or a sequence of them.
template <class Steps>
std::string steps_json(const Steps& steps, std::string_view list_name) {
  if (steps.empty()) return "null";
  std::string list;
  for (const auto& step : steps) list += (list.empty() ? "" : ", ") + std::visit(StepJson{}, step);
  if (steps.size() == 1) return list;
  return fmt::format(R"({{"type": "Sequence", "{}": [{}]}})", list_name, list);
}

std::string vocab_json(const TokenTable& vocab) {
  std::string out;
  for (TokenId id = 0; id < vocab.size(); ++id)
    if (vocab.has(id))
      out += fmt::format("{}\n      {}: {}", out.empty() ? "" : ",", json_quoted(vocab.token(id)), id);
  return fmt::format("{{{}\n    }}", out);
}

struct ModelJson {
  static std::string or_null(const std::string& text) { return text.empty() ? "null" : json_quoted(text); }
  std::string operator()(const BpeParts& model) const {
    std::string merges;
    for (const BpeParts::Merge& merge : model.merges)
      merges += fmt::format("{}\n      [{}, {}]", merges.empty() ? "" : ",",
                            json_quoted(model.vocab.token(merge.left)),
                            json_quoted(model.vocab.token(merge.right)));
    return fmt::format(
        "{{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": {},\n"
        "    \"continuing_subword_prefix\": {},\n    \"end_of_word_suffix\": {},\n    \"fuse_unk\": {},\n"
        "    \"byte_fallback\": {},\n    \"ignore_merges\": {},\n    \"vocab\": {},\n    \"merges\": "
        "[{}{}]\n  }}",
        model.unknown ? json_quoted(*model.unknown) : "null", or_null(model.prefix), or_null(model.suffix),
        model.fuse_unknown, model.byte_fallback, model.ignore_merges, vocab_json(model.vocab), merges,
        merges.empty() ? "" : "\n    ");
  }
  std::string operator()(const UnigramParts& model) const {
    std::string vocab;
    for (TokenId id = 0; id < model.vocab.size(); ++id) {
      std::string score = fmt::format("{}", model.scores[static_cast<std::size_t>(id)]);
      if (score.find_first_of(".e") == std::string::npos) score += ".0";
      vocab += fmt::format("{}\n      [{}, {}]", vocab.empty() ? "" : ",", json_quoted(model.vocab.token(id)),
                           score);
    }
    return fmt::format(
        "{{\n    \"type\": \"Unigram\",\n    \"unk_id\": {},\n    \"vocab\": [{}\n    ],\n    "
        "\"byte_fallback\": {}\n  }}",
        model.unknown ? fmt::format("{}", *model.unknown) : "null", vocab, model.byte_fallback);
  }
  std::string operator()(const WordPieceParts& model) const {
    return fmt::format(
        "{{\n    \"type\": \"WordPiece\",\n    \"unk_token\": {},\n    \"continuing_subword_prefix\": {},\n"
        "    \"max_input_chars_per_word\": {},\n    \"vocab\": {}\n  }}",
        json_quoted(model.unknown), json_quoted(model.prefix), model.longest_word, vocab_json(model.vocab));
  }
  std::string operator()(const WordLevelParts& model) const {
    return fmt::format("{{\n    \"type\": \"WordLevel\",\n    \"vocab\": {},\n    \"unk_token\": {}\n  }}",
                       vocab_json(model.vocab), json_quoted(model.unknown));
  }
  std::string operator()(const SentencePieceParts&) const {
    throw Error(ErrorKind::usage, "tokenizer.write",
                "tokenizer: a SentencePiece model has no tokenizer.json form here; keep its .model file");
  }
};

std::string added_json(const std::vector<AddedToken>& tokens) {
  std::string out;
  for (const AddedToken& token : tokens)
    out += fmt::format(
        "{}\n    {{\"id\": {}, \"content\": {}, \"single_word\": {}, \"lstrip\": {}, \"rstrip\": {}, "
        "\"normalized\": {}, "
        "\"special\": {}}}",
        out.empty() ? "" : ",", token.id, json_quoted(token.content), token.single_word, token.lstrip,
        token.rstrip, token.normalized, token.special);
  return fmt::format("[{}{}]", out, out.empty() ? "" : "\n  ");
}

}  // namespace

std::string tokenizer_to_json(const Tokenizer& tokenizer) {
  const TokenizerParts& parts = parts_of(tokenizer);
  return fmt::format(
      "{{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": {},\n"
      "  \"normalizer\": {},\n  \"pre_tokenizer\": {},\n  \"post_processor\": {},\n  \"decoder\": {},\n"
      "  \"model\": {}\n}}\n",
      added_json(parts.added), steps_json(parts.normalizer, "normalizers"),
      steps_json(parts.pre_tokenizer, "pretokenizers"), steps_json(parts.post_processor, "processors"),
      steps_json(parts.decoder, "decoders"), std::visit(ModelJson{}, parts.model));
}

}  // namespace headlight::models
