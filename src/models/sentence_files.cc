#include "models/sentence_files.h"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/folder.h"
#include "io/json.h"

namespace headlight::models {
namespace {

using io::Json;

constexpr std::uint64_t kLargestFile = std::uint64_t{16} << 20;

[[noreturn]] void refuse_sentence_file(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::input, "embed.modules", concat(escaped(file), ": ", what));
}

std::optional<Json> json_named(const io::Folder& folder, const std::string& name) {
  if (!folder.has(name)) return std::nullopt;
  return Json::parse(folder.read(name, kLargestFile), folder.path_of(name));
}

// A folder name in modules.json; paths are refused.
std::string subfolder(const Json& modules, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
    refuse_sentence_file(modules.file(),
                         concat("the path \"", escaped(name, 60), "\" is not a folder next to it"));
  return name;
}

void read_pooling(const std::string& path, SentenceFiles& out) {
  const io::Folder folder(path);
  const std::optional<Json> json = json_named(folder, "config.json");
  if (!json) refuse_sentence_file(path, "has no config.json, so it does not say how vectors are pooled");
  out.source = json->file();
  static constexpr std::array<std::pair<std::string_view, SentencePooling>, 4> kModes = {{
      {"pooling_mode_mean_tokens", SentencePooling::mean},
      {"pooling_mode_cls_token", SentencePooling::first},
      {"pooling_mode_max_tokens", SentencePooling::max},
      {"pooling_mode_lasttoken", SentencePooling::last},
  }};
  int chosen = 0;
  for (const std::string& key : json->keys()) {
    if (!key.starts_with("pooling_mode_") || !json->boolean_or(key, false)) continue;
    ++chosen;
    bool known = false;
    for (const auto& [name, pooling] : kModes) {
      if (name != key) continue;
      out.pooling = pooling;
      known = true;
    }
    if (!known)
      refuse_sentence_file(json->file(), concat("\"", escaped(key, 60),
                                                "\" is not supported; mean, cls, max and lasttoken are"));
  }
  if (chosen != 1) refuse_sentence_file(json->file(), concat(chosen, " poolings are on; need one"));
}

void read_modules(const std::string& path, const Json& modules, SentenceFiles& out) {
  out.source = modules.file();
  for (const Json& module : modules.items()) {
    const std::string& type = module.text("type");
    const std::string_view kind = std::string_view(type).substr(type.rfind('.') + 1);
    if (kind == "Transformer") continue;
    if (kind == "Pooling")
      read_pooling((std::filesystem::path(path) / subfolder(modules, module.text("path"))).string(), out);
    else if (kind == "Normalize") out.normalise = true;
    else
      refuse_sentence_file(modules.file(),
                           concat("the module \"", escaped(type, 80),
                                  "\" is not supported; Transformer, Pooling and Normalize are"));
  }
}

}  // namespace

SentenceFiles read_sentence_files(const std::string& path) {
  SentenceFiles out;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return out;
  const io::Folder folder(path);
  if (const std::optional<Json> modules = json_named(folder, "modules.json"))
    read_modules(path, *modules, out);
  else if (const auto pooling = std::filesystem::path(path) / "1_Pooling";
           std::filesystem::is_directory(pooling, ignored))
    read_pooling(pooling.string(), out);
  if (const std::optional<Json> limits = json_named(folder, "sentence_bert_config.json"))
    out.longest = limits->integer_or("max_seq_length", 0);
  if (const std::optional<Json> more = json_named(folder, "config_sentence_transformers.json")) {
    const std::string name = more->text_or("default_prompt_name", "");
    if (!name.empty()) out.prefix = more->object("prompts").text(name);
  }
  return out;
}

}  // namespace headlight::models
