#include "models/chat_files.h"

#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/folder.h"
#include "io/gguf.h"
#include "io/json.h"

namespace headlight::models {
namespace {

using io::Json;

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;
constexpr const char* kTokenNames[] = {"bos_token", "eos_token", "pad_token", "unk_token"};

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::optional<Json> json_named(const io::Folder& folder, const std::string& name) {
  if (!folder.has(name)) return std::nullopt;
  return Json::parse(folder.read(name, kLargestFile), folder.path_of(name));
}

// A text, or a list of named ones, of which "default" is used.
std::optional<std::string> template_in(const Json& json) {
  const Json* entry = json.find("chat_template");
  if (entry == nullptr || entry->is(Json::Kind::null)) return std::nullopt;
  if (!entry->is(Json::Kind::list)) return entry->text();
  for (const Json& one : entry->items())
    if (one.text("name") == "default") return one.text("template");
  throw Error(ErrorKind::input, "chat.template",
              concat(escaped(json.file()), ": has ", entry->items().size(),
                     " chat templates, and none of them is called \"default\""));
}

// A token by its text, or as an object that has one.
void add_tokens(const Json& config, ChatFile& file) {
  for (const char* name : kTokenNames) {
    const Json* token = config.find(name);
    if (token != nullptr && token->is(Json::Kind::object)) token = token->find("content");
    if (token != nullptr && token->is(Json::Kind::text)) file.tokens.emplace_back(name, token->text());
  }
}

std::optional<ChatFile> in_folder(const io::Folder& folder) {
  ChatFile file;
  const std::optional<Json> config = json_named(folder, "tokenizer_config.json");
  if (config) add_tokens(*config, file);
  if (folder.has("chat_template.jinja")) {
    file.source = folder.read("chat_template.jinja", kLargestFile);
    file.name = folder.path_of("chat_template.jinja");
    return file;
  }
  const std::optional<Json> own = json_named(folder, "chat_template.json");
  for (const std::optional<Json>* json : {&own, &config}) {
    if (!*json) continue;
    if (std::optional<std::string> source = template_in(**json)) {
      file.source = std::move(*source);
      file.name = (*json)->file();
      return file;
    }
  }
  return std::nullopt;
}

std::optional<ChatFile> in_gguf(const std::string& path, const Tokenizer* tokenizer) {
  const io::Gguf gguf = io::Gguf::open(path);
  const std::optional<std::string_view> source = gguf.text("tokenizer.chat_template");
  if (!source) return std::nullopt;
  ChatFile file{std::string(*source), concat(path, ": tokenizer.chat_template")};
  static constexpr const char* kKeys[] = {"bos_token_id", "eos_token_id", "padding_token_id",
                                          "unknown_token_id"};
  for (std::size_t i = 0; tokenizer != nullptr && i < std::size(kKeys); ++i) {
    const std::optional<std::int64_t> id = gguf.integer(concat("tokenizer.ggml.", kKeys[i]));
    if (id && *id >= 0 && *id < tokenizer->size())
      file.tokens.emplace_back(kTokenNames[i], std::string(tokenizer->token(static_cast<TokenId>(*id))));
  }
  return file;
}

std::optional<double> number_in(const Json& json, const char* name) {
  const Json* entry = json.find(name);
  if (entry == nullptr || entry->is(Json::Kind::null)) return std::nullopt;
  return entry->real();
}

}  // namespace

std::optional<ChatFile> find_chat_template(const std::string& path, const Tokenizer* tokenizer) {
  return is_folder(path) ? in_folder(io::Folder(path)) : in_gguf(path, tokenizer);
}

GenerationDefaults read_generation_defaults(const std::string& path) {
  GenerationDefaults out;
  if (!is_folder(path)) return out;
  const std::optional<Json> json = json_named(io::Folder(path), "generation_config.json");
  if (!json) return out;
  out.draws = json->boolean_or("do_sample", false);
  out.temperature = number_in(*json, "temperature");
  out.top_p = number_in(*json, "top_p");
  out.min_p = number_in(*json, "min_p");
  out.repetition_penalty = number_in(*json, "repetition_penalty");
  if (const Json* count = json->find("top_k"); count != nullptr && !count->is(Json::Kind::null))
    out.top_k = count->integer();
  if (out.draws || out.repetition_penalty) out.name = json->file();
  return out;
}

}  // namespace headlight::models
