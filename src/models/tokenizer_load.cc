// Selects the tokenizer file of a folder; reads the older formats: vocab.txt, vocab.json with merges.txt.
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
#include "models/tokenizer_pieces.h"
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

// Calls `use` with each line, without its end; an empty last line does not count.
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

// Added tokens of tokenizer_config.json: {"50256": {"content": "<|endoftext|>", …}, …}.
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
                  concat(escaped(config.file()), ": \"", escaped(key, 40), "\" is not a token id"));
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

std::string read_named(const io::Folder& folder, const std::string& name) {
  return folder.read(name, kLargestFile);
}

Json json_named(const io::Folder& folder, const std::string& name) {
  return Json::parse(read_named(folder, name), folder.path_of(name));
}

// The names that end in .model, sorted.
std::vector<std::string> sentence_pieces(const io::Folder& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (std::filesystem::directory_iterator entry(folder.path(), problem), end; !problem && entry != end;
       entry.increment(problem))
    if (entry->path().extension() == ".model") names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Without a setting in the files, a vocabulary without capital letters is lower-case.
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

Tokenizer load_bert(const io::Folder& folder) {
  TokenizerParts parts = bert_parts(read_named(folder, "vocab.txt"), folder.path_of("vocab.txt"));
  BertCleaning cleaning;
  cleaning.lowercase = looks_lowercase(vocab_of(parts.model));
  if (const auto config = tokenizer_config(folder)) {
    cleaning.lowercase = config->boolean_or("do_lower_case", cleaning.lowercase);
    cleaning.chinese = config->boolean_or("tokenize_chinese_chars", true);
    if (const Json* strip = config->find("strip_accents"); strip != nullptr && strip->is(Json::Kind::boolean))
      cleaning.strip_accents = strip->boolean();
    read_added_tokens(*config, parts);
  }
  parts.normalizer = {cleaning};
  return make_named_tokenizer(std::move(parts), folder.path_of("vocab.txt"));
}

Tokenizer load_gpt(const io::Folder& folder) {
  TokenizerParts parts = gpt_parts(json_named(folder, "vocab.json"), read_named(folder, "merges.txt"),
                                   folder.path_of("merges.txt"));
  if (const auto config = tokenizer_config(folder)) {
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
  return make_named_tokenizer(std::move(parts), folder.path_of("vocab.json"));
}

// Which file of a folder is the tokenizer. The only list of them.
struct TokenizerFile {
  std::string_view name, companion;
  // Nothing, if it cannot be used; `why_not` then has the reason.
  std::optional<Tokenizer> (*load)(const io::Folder& folder, const std::string& name, std::string& why_not);
};
using Reason = std::string;
std::optional<Tokenizer> load_json(const io::Folder& folder, const std::string& name, Reason&) {
  return tokenizer_from_json(json_named(folder, name));
}
constexpr std::string_view kAnyModel = "*.model";
constexpr TokenizerFile kTokenizerFiles[] = {
    {"tokenizer.json", "", load_json},
    {"tokenizer.model", "", tokenizer_from_pieces},
    {"spiece.model", "", tokenizer_from_pieces},
    {kAnyModel, "", tokenizer_from_pieces},
    {"vocab.json", "merges.txt",
     [](const io::Folder& folder, const std::string&, Reason&) { return std::optional(load_gpt(folder)); }},
    {"vocab.json", "source.spm",
     [](const io::Folder& folder, const std::string&, Reason&) {
       return std::optional(tokenizer_from_pair_files(folder));
     }},
    {"vocab.txt", "",
     [](const io::Folder& folder, const std::string&, Reason&) { return std::optional(load_bert(folder)); }},
};

// Nothing, with the reason unless the file does not exist.
std::optional<Tokenizer> try_file(const TokenizerFile& file, const io::Folder& folder, std::string& why_not) {
  std::string name(file.name);
  if (file.name == kAnyModel) {
    const std::vector<std::string> names = sentence_pieces(folder);
    if (names.size() > 1)
      why_not = concat("has ", escaped(names[0], 60), " and ", escaped(names[1], 60),
                       ", and no file says which one to use");
    if (names.size() != 1) return std::nullopt;
    name = names.front();
  }
  if (!folder.has(name)) return std::nullopt;
  if (!file.companion.empty() && !folder.has(std::string(file.companion))) {
    if (why_not.empty()) why_not = concat("has ", name, " without ", file.companion);
    return std::nullopt;
  }
  return file.load(folder, name, why_not);
}

// eos_token of tokenizer_config.json: a text, or an object with a text.
std::vector<TokenId> ends_of(const io::Folder& folder, const Tokenizer& tokenizer) {
  const std::optional<Json> config = tokenizer_config(folder);
  const Json* end = config ? config->find("eos_token") : nullptr;
  if (end != nullptr && end->is(Json::Kind::object)) end = end->find("content");
  if (end == nullptr || !end->is(Json::Kind::text)) return {};
  const std::optional<TokenId> id = tokenizer.find(end->text());
  return id ? std::vector{*id} : std::vector<TokenId>{};
}

// Files name the end tokens of a text, of a turn and of a message; older files name only the first, and the others are
// recognised by their text.
std::vector<TokenId> ends_of(const io::Gguf& file, const Tokenizer& tokenizer) {
  static constexpr std::string_view kKeys[] = {"eos_token_id", "eot_token_id", "eom_token_id"};
  static constexpr std::string_view kNames[] = {"<|eot_id|>",      "<|im_end|>", "<|end|>",
                                                "<end_of_turn>",   "<|eom_id|>", "<|endoftext|>",
                                                "<|end_of_text|>", "<|eot|>"};
  std::vector<TokenId> ends;
  for (const std::string_view key : kKeys) {
    const std::optional<std::int64_t> id = file.integer(concat("tokenizer.ggml.", key));
    if (id && *id >= 0 && *id < tokenizer.size()) ends.push_back(static_cast<TokenId>(*id));
  }
  for (const std::string_view name : kNames) {
    const std::optional<TokenId> id = tokenizer.find(name);
    if (id && tokenizer.is_special(*id)) ends.push_back(*id);
  }
  return ends;
}

}  // namespace

FoundTokenizer find_tokenizer(const io::Folder& folder) {
  FoundTokenizer found;
  for (const TokenizerFile& file : kTokenizerFiles) {
    found.tokenizer = try_file(file, folder, found.why_not);
    if (!found.tokenizer) continue;
    found.ends = ends_of(folder, *found.tokenizer);
    found.why_not.clear();
    return found;
  }
  found.why_not = concat(escaped(folder.path()), ": no tokenizer in this folder",
                         found.why_not.empty() ? "" : "; it ", found.why_not,
                         ".\nExpected tokenizer.json, tokenizer.model, spiece.model, one *.model, "
                         "vocab.json with merges.txt or with source.spm and target.spm, or vocab.txt.");
  return found;
}

FoundTokenizer find_tokenizer(const io::Gguf& file) {
  FoundTokenizer found;
  if (const auto vocabulary = read_gguf_vocabulary(file)) {
    found.tokenizer = tokenizer_from_gguf(*vocabulary, file.name());
    found.ends = ends_of(file, *found.tokenizer);
  } else found.why_not = concat(escaped(file.name()), ": has no tokenizer inside");
  return found;
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
  const bool folder = std::filesystem::is_directory(file, ignored);
  if (folder || is_gguf(path)) {
    FoundTokenizer found = folder ? find_tokenizer(io::Folder(path)) : find_tokenizer(io::Gguf::open(path));
    if (!found.tokenizer) throw Error(ErrorKind::input, "tokenizer.missing", found.why_not);
    return std::move(*found.tokenizer);
  }
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
