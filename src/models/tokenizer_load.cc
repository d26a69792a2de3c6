// Which file of a folder is the tokenizer, and the older forms: vocab.txt, vocab.json with merges.txt.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/outputs.h"
#include "models/file_format.h"
#include "models/tokenizer_file.h"
#include "models/tokenizer_gguf.h"
#include "models/tokenizer_vocab.h"
#include "text/pattern.h"

namespace headlight::models {
namespace {

using namespace text;
using io::Json;

constexpr std::uint64_t kLargestFile = 256 << 20;

std::string read_all(const std::string& path) {
  const std::vector<std::byte> bytes = io::read_file(path, kLargestFile);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Calls `use` with each line, without its end; an empty last line is none.
template <class Use>
void each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    use(line);
  }
}

void add_special(TokenizerParts& parts, std::string_view name, bool lstrip = false) {
  if (const auto id = vocab_of(parts.model).find(name))
    parts.added.push_back({.id = *id, .content = std::string(name), .lstrip = lstrip, .special = true});
}

// What tokenizer_config.json says of added tokens: {"50256": {"content": "<|endoftext|>", …}, …}.
void read_added_tokens(const Json& config, TokenizerParts& parts) {
  const Json* list = config.find("added_tokens_decoder");
  if (list == nullptr || !list->is(Json::Kind::object)) return;
  for (std::size_t i = 0; i < list->keys().size(); ++i) {
    const std::string& key = list->keys()[i];
    const Json& item = list->items()[i];
    AddedToken token;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), token.id);
    if (problem != std::errc() || end != key.data() + key.size() || token.id < 0)
      throw Error(ErrorKind::input, "tokenizer.added",
                  concat(escaped(config.file()), ": \"", escaped(key, 40), "\" is no token id"));
    token.content = item.text("content");
    token.single_word = item.boolean_or("single_word", false);
    token.lstrip = item.boolean_or("lstrip", false);
    token.rstrip = item.boolean_or("rstrip", false);
    token.normalized = item.boolean_or("normalized", false);
    token.special = item.boolean_or("special", false);
    std::erase_if(parts.added,
                  [&](const AddedToken& t) { return t.id == token.id || t.content == token.content; });
    parts.added.push_back(std::move(token));
  }
}

struct Folder {
  std::string path;
  io::Folder handle{path};

  [[nodiscard]] bool has(const char* name) const { return handle.has(name); }
  [[nodiscard]] std::string file(const std::string& name) const { return handle.path_of(name); }
  [[nodiscard]] std::string read(const std::string& name) const { return handle.read(name, kLargestFile); }
  [[nodiscard]] Json json(const std::string& name) const { return Json::parse(read(name), file(name)); }
  [[nodiscard]] std::optional<Json> config() const {
    if (!has("tokenizer_config.json")) return std::nullopt;
    return json("tokenizer_config.json");
  }
  // The names that end in .model, sorted.
  [[nodiscard]] std::vector<std::string> models() const {
    std::vector<std::string> names;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(path, problem), end; !problem && entry != end;
         entry.increment(problem))
      if (entry->path().extension() == ".model") names.push_back(entry->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
};

// Without a word on it, a vocabulary that has no capital letters is one of small letters.
bool looks_lowercase(const TokenTable& vocab) {
  for (TokenId id = 0; id < vocab.size(); ++id) {
    const std::string_view token = vocab.token(id);
    if (token.starts_with('[')) continue;
    if (std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) return false;
  }
  return true;
}

TokenizerParts bert_parts(std::string_view text, const std::string& name) {
  WordPieceParts pieces;
  each_line(text, [&](std::string_view line) { add_token(pieces.vocab, line, pieces.vocab.size(), name); });
  TokenizerParts parts;
  parts.model = std::move(pieces);
  parts.pre_tokenizer = {BertWords{}};
  parts.decoder = {JoinWordPieces{}};
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) add_special(parts, token);
  const TokenTable& vocab = vocab_of(parts.model);
  const auto separator = vocab.find("[SEP]"), classifier = vocab.find("[CLS]");
  if (separator && classifier)
    parts.post_processor = {BertEnds{{"[SEP]", *separator}, {"[CLS]", *classifier}}};
  return parts;
}

TokenizerParts gpt_parts(const Json& vocab, std::string_view merges, const std::string& name) {
  BpeParts bpe;
  bpe.vocab = read_vocab(vocab);
  bool first = true;
  each_line(merges, [&](std::string_view line) {
    const bool header = first && line.starts_with("#version");
    first = false;
    if (!header && !line.empty()) bpe.merges.push_back(merge_of(line, bpe, name));
  });
  TokenizerParts parts;
  parts.model = std::move(bpe);
  parts.pre_tokenizer = {ByteLevel{.add_prefix_space = false}};
  parts.decoder = {ByteLevel{}};
  parts.post_processor = {ByteLevel{.add_prefix_space = true, .trim_offsets = false}};
  for (const char* token : {"<|endoftext|>", "<s>", "<pad>", "</s>", "<unk>"}) add_special(parts, token);
  add_special(parts, "<mask>", true);
  const TokenTable& tokens = vocab_of(parts.model);
  const auto begin = tokens.find("<s>"), end = tokens.find("</s>");
  if (begin && end)  // RoBERTa's and BART's
    parts.post_processor = {
        RobertaEnds{.separator = {"</s>", *end}, .classifier = {"<s>", *begin}, .add_prefix_space = false}};
  return parts;
}

Tokenizer load_bert(const Folder& folder) {
  TokenizerParts parts = bert_parts(folder.read("vocab.txt"), folder.file("vocab.txt"));
  BertCleaning cleaning;
  cleaning.lowercase = looks_lowercase(vocab_of(parts.model));
  if (const auto config = folder.config()) {
    cleaning.lowercase = config->boolean_or("do_lower_case", cleaning.lowercase);
    cleaning.chinese = config->boolean_or("tokenize_chinese_chars", true);
    if (const Json* strip = config->find("strip_accents"); strip != nullptr && strip->is(Json::Kind::boolean))
      cleaning.strip_accents = strip->boolean();
    read_added_tokens(*config, parts);
  }
  parts.normalizer = {cleaning};
  return make_named_tokenizer(std::move(parts), folder.file("vocab.txt"));
}

Tokenizer load_gpt(const Folder& folder) {
  TokenizerParts parts =
      gpt_parts(folder.json("vocab.json"), folder.read("merges.txt"), folder.file("merges.txt"));
  if (const auto config = folder.config()) {
    const bool qwen = config->text_or("tokenizer_class", "").starts_with("Qwen2");
    if (qwen) {
      parts.normalizer = {UnicodeForm::nfc};
      parts.pre_tokenizer = {Split{{std::string(qwen2_pattern()), true}, SplitBehavior::isolated, false},
                             ByteLevel{.add_prefix_space = false, .use_regex = false}};
    } else {
      std::get<ByteLevel>(parts.pre_tokenizer.front()).add_prefix_space =
          config->boolean_or("add_prefix_space", false);
    }
    read_added_tokens(*config, parts);
  }
  return make_named_tokenizer(std::move(parts), folder.file("vocab.json"));
}

Tokenizer load_folder(const Folder& folder) {
  if (folder.has("tokenizer.json")) return tokenizer_from_json(folder.json("tokenizer.json"));
  const auto sentence_piece = [&](const std::string& name) {
    return tokenizer_from_sentence_piece(folder.read(name), folder.file(name));
  };
  for (const char* name : {"tokenizer.model", "spiece.model"})
    if (folder.has(name)) return sentence_piece(name);
  const std::vector<std::string> models = folder.models();
  if (models.size() == 1) return sentence_piece(models.front());
  if (folder.has("vocab.json") && folder.has("merges.txt")) return load_gpt(folder);
  if (folder.has("vocab.txt")) return load_bert(folder);
  throw Error(ErrorKind::input, "tokenizer.missing",
              concat(escaped(folder.path),
                     ": no tokenizer in this folder.\nExpected tokenizer.json, tokenizer.model, "
                     "spiece.model, one *.model, "
                     "vocab.json with merges.txt, or vocab.txt."));
}

Tokenizer load_gguf(const std::string& path) {
  const auto vocabulary = read_gguf_vocabulary(io::Gguf::open(path));
  if (!vocabulary)
    throw Error(ErrorKind::input, "tokenizer.missing", concat(escaped(path), ": has no tokenizer inside"));
  return tokenizer_from_gguf(*vocabulary, path);
}

}  // namespace

bool has_tokenizer_files(const std::string& folder) {
  const io::Folder handle(folder);
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt"})
    if (handle.has(name)) return true;
  return false;
}

bool has_tokenizer(const std::string& path) {
  if (!is_gguf(path)) return has_tokenizer_files(path);
  return read_gguf_vocabulary(io::Gguf::open(path)).has_value();
}

Tokenizer tokenizer_from_vocab_txt(std::string_view text, const std::string& name, bool lowercase) {
  TokenizerParts parts = bert_parts(text, name);
  parts.normalizer = {BertCleaning{.lowercase = lowercase}};
  return make_named_tokenizer(std::move(parts), name);
}

Tokenizer tokenizer_from_vocab_and_merges(const Json& vocab, std::string_view merges,
                                          const std::string& name) {
  return make_named_tokenizer(gpt_parts(vocab, merges, name), name);
}

Tokenizer load_tokenizer(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, ignored)) return load_folder({path});
  if (is_gguf(path)) return load_gguf(path);
  if (file.extension() == ".model") return tokenizer_from_sentence_piece(read_all(path), path);
  if (file.extension() == ".txt") {
    const std::string text = read_all(path);
    return tokenizer_from_vocab_txt(text, path, looks_lowercase(vocab_of(bert_parts(text, path).model)));
  }
  return tokenizer_from_json(Json::read(path, kLargestFile));
}

void check_vocabulary(const Tokenizer& tokenizer, std::int64_t rows, const std::string& name) {
  if (tokenizer.size() <= rows) return;
  throw Error(ErrorKind::input, "model.vocabulary",
              concat(escaped(name), ": its tokenizer has tokens up to number ", tokenizer.size() - 1,
                     ", the model only ", rows, " rows for them"));
}

void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder, ExistingTokenizer existing) {
  const std::string json = tokenizer_to_json(tokenizer);
  std::filesystem::create_directories(folder);
  const std::string path = (std::filesystem::path(folder) / "tokenizer.json").string();
  io::Outputs outputs(existing == ExistingTokenizer::replace ? io::Existing::replace : io::Existing::refuse);
  outputs.reserve(path);
  outputs.write(path, std::as_bytes(std::span(json)));
  outputs.commit();
}

}  // namespace headlight::models
