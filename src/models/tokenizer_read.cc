// tokenizer.json to a tokenizer. The file is untrusted: ids, merges and names are checked
// here against the vocabulary, and the parts against each other in make_tokenizer().
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/tokenizer_file.h"
#include "models/tokenizer_steps.h"
#include "models/tokenizer_vocab.h"
#include "text/parts.h"

namespace headlight::models {
namespace {

using namespace text;
using io::Json;

[[noreturn]] void refuse_tokenizer(const Json& json, std::string_view code, const std::string& what) {
  throw Error(ErrorKind::input, concat("tokenizer.", code), concat(escaped(json.file()), ": ", what));
}
std::string quoted_token(std::string_view token) { return concat("\"", escaped(token, 60), "\""); }

std::string optional_text(const Json& json, std::string_view key) { return json.text_or(key, ""); }

// ["a", "b"], or "a b" as older files have it.
BpeParts::Merge read_merge(const Json& item, const BpeParts& parts) {
  if (!item.is(Json::Kind::list)) return merge_of(item.text(), parts, item.file());
  if (item.items().size() != 2)
    refuse_tokenizer(item, "merge", concat("a merge has ", item.items().size(), " pieces; it needs two"));
  return merge_of(item.items()[0].text(), item.items()[1].text(), parts, item.file());
}

BpeParts read_bpe(const Json& model) {
  BpeParts parts;
  parts.vocab = read_vocab(model.object("vocab"));
  if (const Json* unknown = model.find("unk_token"); unknown != nullptr && !unknown->is(Json::Kind::null))
    parts.unknown = unknown->text();
  parts.prefix = optional_text(model, "continuing_subword_prefix");
  parts.suffix = optional_text(model, "end_of_word_suffix");
  parts.fuse_unknown = model.boolean_or("fuse_unk", false);
  parts.byte_fallback = model.boolean_or("byte_fallback", false);
  parts.ignore_merges = model.boolean_or("ignore_merges", false);
  const Json& merges = model.list("merges");
  parts.merges.reserve(merges.items().size());
  for (const Json& item : merges.items()) parts.merges.push_back(read_merge(item, parts));
  return parts;
}

UnigramParts read_unigram(const Json& model) {
  UnigramParts parts;
  const std::span<const Json> entries = model.list("vocab").items();
  parts.vocab.reserve(entries.size());
  for (const Json& entry : entries) {
    if (entry.items().size() != 2 || !entry.is(Json::Kind::list))
      refuse_tokenizer(model, "vocab", "an entry of the vocabulary is not a pair of token and score");
    add_token(parts.vocab, entry.items()[0].text(), static_cast<TokenId>(parts.scores.size()), model.file());
    parts.scores.push_back(entry.items()[1].real());
  }
  if (const Json* unknown = model.find("unk_id"); unknown != nullptr && !unknown->is(Json::Kind::null))
    parts.unknown = read_token_id(*unknown, "unk");
  parts.byte_fallback = model.boolean_or("byte_fallback", false);
  return parts;
}

WordPieceParts read_word_piece(const Json& model) {
  WordPieceParts parts;
  parts.vocab = read_vocab(model.object("vocab"));
  parts.unknown = model.text_or("unk_token", parts.unknown);
  parts.prefix = model.text_or("continuing_subword_prefix", parts.prefix);
  const std::int64_t longest = model.integer_or("max_input_chars_per_word", 100);
  if (longest < 0 || longest > 1'000'000)
    refuse_tokenizer(model, "form", concat("\"max_input_chars_per_word\" is ", longest));
  parts.longest_word = static_cast<std::size_t>(longest);
  return parts;
}

// Older files leave the type out.
std::string model_type(const Json& model) {
  if (model.find("type") != nullptr) return model.text("type");
  if (model.find("merges") != nullptr) return "BPE";
  if (model.find("continuing_subword_prefix") != nullptr) return "WordPiece";
  return model.at("vocab").is(Json::Kind::list) ? "Unigram" : "WordLevel";
}

ModelParts read_model(const Json& model) {
  const std::string type = model_type(model);
  if (type == "BPE") return read_bpe(model);
  if (type == "Unigram") return read_unigram(model);
  if (type == "WordPiece") return read_word_piece(model);
  if (type == "WordLevel")
    return WordLevelParts{read_vocab(model.object("vocab")), model.text_or("unk_token", "<unk>")};
  refuse_tokenizer(model, "model",
                   concat("the model ", quoted_token(type),
                          " is not supported; BPE, Unigram, WordPiece and WordLevel are"));
}

std::vector<AddedToken> read_added(const Json& json) {
  std::vector<AddedToken> tokens;
  const Json* list = json.find("added_tokens");
  if (list == nullptr || list->is(Json::Kind::null)) return tokens;
  for (const Json& item : json.list("added_tokens").items()) {
    AddedToken token;
    token.content = item.text("content");
    token.id = read_token_id(item.at("id"), token.content);
    token.single_word = item.boolean_or("single_word", false);
    token.lstrip = item.boolean_or("lstrip", false);
    token.rstrip = item.boolean_or("rstrip", false);
    token.special = item.boolean_or("special", false);
    token.normalized = item.boolean_or("normalized", !token.special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

Tokenizer tokenizer_from_json(const Json& json) {
  TokenizerParts parts;
  parts.model = read_model(json.object("model"));
  parts.added = read_added(json);
  parts.normalizer = read_normalizer(json.find("normalizer"));
  parts.pre_tokenizer = read_pre_tokenizer(json.find("pre_tokenizer"));
  parts.post_processor = read_post_processor(json.find("post_processor"));
  parts.decoder = read_decoder(json.find("decoder"));
  return make_named_tokenizer(std::move(parts), json.file());
}

}  // namespace headlight::models
