// Tokenizer to tokenizer.json, in the form that Hugging Face's library writes and reads.

#include <variant>

#include "headlight/error.h"
#include "io/json_writer.h"
#include "models/tokenizer_file.h"
#include "text/parts.h"

namespace headlight::models {
namespace {

using namespace text;
using io::JsonLayout;
using io::JsonWriter;

// A step begins with its type; the caller adds the rest.
JsonWriter& begin(JsonWriter& w, std::string_view type) { return w.begin_object().field("type", type); }

void write(JsonWriter& w, const Pattern& pattern) {
  w.begin_object().field(pattern.regex ? "Regex" : "String", pattern.text).end_object();
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

struct StepWriter {
  JsonWriter& w;

  void plain(std::string_view type) const { begin(w, type).end_object(); }
  void operator()(UnicodeForm form) const {
    constexpr const char* names[] = {"NFC", "NFD", "NFKC", "NFKD"};
    plain(names[static_cast<std::size_t>(form)]);
  }
  void operator()(const Lowercase&) const { plain("Lowercase"); }
  void operator()(const StripAccents&) const { plain("StripAccents"); }
  void operator()(const BertCleaning& step) const {
    begin(w, "BertNormalizer").field("clean_text", step.clean_text);
    w.field("handle_chinese_chars", step.chinese).field("strip_accents", step.strip_accents);
    w.field("lowercase", step.lowercase).end_object();
  }
  void operator()(const Replace& step) const {
    write(begin(w, "Replace").key("pattern"), step.pattern);
    w.field("content", step.content).end_object();
  }
  void operator()(const Prepend& step) const { begin(w, "Prepend").field("prepend", step.text).end_object(); }
  void operator()(const StripEnds& step) const {
    begin(w, "Strip").field("strip_left", step.left).field("strip_right", step.right).end_object();
  }
  void operator()(const Charsmap& step) const {
    begin(w, "Precompiled").field("precompiled_charsmap", base64(step.bytes)).end_object();
  }
  void operator()(const NmtCleaning&) const { plain("Nmt"); }
  void operator()(const BytesAsCharacters&) const { plain("ByteLevel"); }

  void operator()(const ByteLevel& step) const {
    begin(w, "ByteLevel").field("add_prefix_space", step.add_prefix_space);
    w.field("trim_offsets", step.trim_offsets).field("use_regex", step.use_regex).end_object();
  }
  void operator()(const WordsAndSigns&) const { plain("Whitespace"); }
  void operator()(const WhitespaceSplit&) const { plain("WhitespaceSplit"); }
  void operator()(const BertWords&) const { plain("BertPreTokenizer"); }
  void operator()(const Metaspace& step) const {
    constexpr const char* schemes[] = {"always", "first", "never"};
    begin(w, "Metaspace").field("replacement", step.replacement);
    w.field("prepend_scheme", schemes[static_cast<std::size_t>(step.scheme)]);
    w.field("split", step.split).end_object();
  }
  void operator()(const Split& step) const {
    write(begin(w, "Split").key("pattern"), step.pattern);
    w.field("behavior", behavior_name(step.behavior)).field("invert", step.invert).end_object();
  }
  void operator()(const Digits& step) const {
    begin(w, "Digits").field("individual_digits", step.individual).end_object();
  }
  void operator()(const Punctuation& step) const {
    begin(w, "Punctuation").field("behavior", behavior_name(step.behavior)).end_object();
  }
  void operator()(const Delimiter& step) const {
    begin(w, "CharDelimiterSplit").field("delimiter", step.character).end_object();
  }

  void ends(const NamedToken& separator, const NamedToken& classifier) const {
    w.key("sep").begin_list().value(separator.token).value(separator.id).end_list();
    w.key("cls").begin_list().value(classifier.token).value(classifier.id).end_list();
  }
  void operator()(const BertEnds& step) const {
    begin(w, "BertProcessing");
    ends(step.separator, step.classifier);
    w.end_object();
  }
  void operator()(const RobertaEnds& step) const {
    begin(w, "RobertaProcessing");
    ends(step.separator, step.classifier);
    w.field("trim_offsets", step.trim_offsets).field("add_prefix_space", step.add_prefix_space).end_object();
  }
  void operator()(const Template& step) const {
    pieces(begin(w, "TemplateProcessing").key("single"), step.single);
    pieces(w.key("pair"), step.pair);
    w.key("special_tokens").begin_object();
    for (const Template::Special& special : step.specials) {
      w.key(special.key).begin_object().field("id", special.key).key("ids").begin_list();
      for (const NamedToken& token : special.tokens) w.value(token.id);
      w.end_list().key("tokens").begin_list();
      for (const NamedToken& token : special.tokens) w.value(token.token);
      w.end_list().end_object();
    }
    w.end_object().end_object();
  }
  static void pieces(JsonWriter& w, const std::vector<TemplatePiece>& list) {
    w.begin_list();
    for (const TemplatePiece& piece : list) {
      const bool special = piece.kind == TemplatePiece::Kind::special;
      const std::string_view id = special                                    ? std::string_view(piece.special)
                                  : piece.kind == TemplatePiece::Kind::first ? "A"
                                                                             : "B";
      w.begin_object().key(special ? "SpecialToken" : "Sequence").begin_object();
      w.field("id", id).field("type_id", piece.type_id).end_object().end_object();
    }
    w.end_list();
  }

  void operator()(const JoinWordPieces& step) const {
    begin(w, "WordPiece").field("prefix", step.prefix).field("cleanup", step.cleanup).end_object();
  }
  void operator()(const JoinSuffixed& step) const {
    begin(w, "BPEDecoder").field("suffix", step.suffix).end_object();
  }
  void operator()(const JoinBytes&) const { plain("ByteFallback"); }
  void operator()(const Fuse&) const { plain("Fuse"); }
  void operator()(const StripCharacters& step) const {
    begin(w, "Strip").field("content", step.content).field("start", step.start);
    w.field("stop", step.stop).end_object();
  }
  void operator()(const JoinCtc& step) const {
    begin(w, "CTC").field("pad_token", step.pad).field("word_delimiter_token", step.word_delimiter);
    w.field("cleanup", step.cleanup).end_object();
  }
};

// null, one step, or a sequence of them.
template <class Steps>
void write_steps(JsonWriter& w, const Steps& steps, std::string_view list_name) {
  if (steps.empty()) {
    w.value(nullptr);
    return;
  }
  if (steps.size() > 1) begin(w, "Sequence").key(list_name).begin_list();
  for (const auto& step : steps) std::visit(StepWriter{w}, step);
  if (steps.size() > 1) w.end_list().end_object();
}

struct ModelWriter {
  JsonWriter& w;

  void begin_model(std::string_view type) const { w.begin_object(JsonLayout::lines).field("type", type); }
  static std::optional<std::string_view> or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
  }
  void write_vocab(const TokenTable& vocab) const {
    w.key("vocab").begin_object(JsonLayout::lines);
    for (TokenId id = 0; id < vocab.size(); ++id)
      if (vocab.has(id)) w.field(vocab.token(id), id);
    w.end_object();
  }
  void operator()(const BpeParts& model) const {
    begin_model("BPE");
    w.field("dropout", nullptr).field("unk_token", model.unknown);
    w.field("continuing_subword_prefix", or_null(model.prefix));
    w.field("end_of_word_suffix", or_null(model.suffix)).field("fuse_unk", model.fuse_unknown);
    w.field("byte_fallback", model.byte_fallback).field("ignore_merges", model.ignore_merges);
    write_vocab(model.vocab);
    w.key("merges").begin_list(JsonLayout::lines);
    for (const BpeParts::Merge& merge : model.merges) {
      w.begin_list().value(model.vocab.token(merge.left)).value(model.vocab.token(merge.right));
      w.end_list();
    }
    w.end_list().end_object();
  }
  void operator()(const UnigramParts& model) const {
    begin_model("Unigram");
    w.field("unk_id", model.unknown).key("vocab").begin_list(JsonLayout::lines);
    for (TokenId id = 0; id < model.vocab.size(); ++id) {
      const double score = model.scores[static_cast<std::size_t>(id)];
      w.begin_list().value(model.vocab.token(id)).value(io::with_point(score)).end_list();
    }
    w.end_list().field("byte_fallback", model.byte_fallback).end_object();
  }
  void operator()(const WordPieceParts& model) const {
    begin_model("WordPiece");
    w.field("unk_token", model.unknown).field("continuing_subword_prefix", model.prefix);
    w.field("max_input_chars_per_word", model.longest_word);
    write_vocab(model.vocab);
    w.end_object();
  }
  void operator()(const WordLevelParts& model) const {
    begin_model("WordLevel");
    write_vocab(model.vocab);
    w.field("unk_token", model.unknown).end_object();
  }
  void operator()(const SentencePieceParts&) const {
    throw Error(ErrorKind::usage, "tokenizer.write",
                "tokenizer: a SentencePiece model has no tokenizer.json form here; keep its .model file");
  }
  void operator()(const SentencePairParts&) const {
    throw Error(
        ErrorKind::usage, "tokenizer.write",
        "tokenizer: two SentencePiece models have no tokenizer.json form; keep vocab.json, source.spm "
        "and target.spm");
  }
};

void write_added(JsonWriter& w, const std::vector<AddedToken>& tokens) {
  w.begin_list(JsonLayout::lines);
  for (const AddedToken& token : tokens) {
    w.begin_object().field("id", token.id).field("content", token.content);
    w.field("single_word", token.single_word).field("lstrip", token.lstrip).field("rstrip", token.rstrip);
    w.field("normalized", token.normalized).field("special", token.special).end_object();
  }
  w.end_list();
}

}  // namespace

std::string tokenizer_to_json(const Tokenizer& tokenizer) {
  const TokenizerParts& parts = parts_of(tokenizer);
  JsonWriter w;
  w.begin_object(JsonLayout::lines).field("version", "1.0").field("truncation", nullptr);
  write_added(w.field("padding", nullptr).key("added_tokens"), parts.added);
  write_steps(w.key("normalizer"), parts.normalizer, "normalizers");
  write_steps(w.key("pre_tokenizer"), parts.pre_tokenizer, "pretokenizers");
  write_steps(w.key("post_processor"), parts.post_processor, "processors");
  write_steps(w.key("decoder"), parts.decoder, "decoders");
  std::visit(ModelWriter{w.key("model")}, parts.model);
  return w.end_object().take_line();
}

}  // namespace headlight::models
