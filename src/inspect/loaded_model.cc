#include "inspect/loaded_model.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "core/concat.h"
#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "io/file.h"
#include "models/adapter_file.h"
#include "models/file_format.h"
#include "models/load.h"
#include "models/tokenizer_file.h"

namespace headlight::inspect {
namespace {

namespace fs = std::filesystem;
using models::ModelKind;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Reports early which files a model's folder lacks.
void check_folder(const std::string& folder) {
  const fs::path base(folder);
  if (!is_there(base / "config.json")) {
    throw Error(ErrorKind::input, "model.folder",
                concat(escaped(folder), ": has no config.json, so it is not a model folder"));
  }
  const bool safe = is_there(base / "model.safetensors") || is_there(base / "model.safetensors.index.json");
  if (!safe && (is_there(base / "pytorch_model.bin") || is_there(base / "pytorch_model.bin.index.json"))) {
    throw Error(
        ErrorKind::input, "model.pickle",
        concat(escaped(folder), ": has only pytorch_model.bin, a pickle file that can run code when loaded\n",
               "If you trust it, convert it once: python3 -c \"from transformers import AutoModel; "
               "AutoModel.from_pretrained('FOLDER').save_pretrained('FOLDER', safe_serialization=True)\""));
  }
}

// The snapshot folder of a model in a Hugging Face cache (models--owner--name): the one that refs/main names, or the
// only one. Any other folder is returned unchanged.
std::string snapshot_of(const std::string& folder) {
  const fs::path snapshots = fs::path(folder) / "snapshots";
  if (is_there(fs::path(folder) / "config.json") || !is_folder(snapshots)) return folder;
  std::ifstream file(fs::path(folder) / "refs" / "main");
  std::string revision;
  constexpr std::size_t most = 64;
  if (file >> revision && revision.size() <= most &&
      revision.find_first_not_of("0123456789abcdef") == std::string::npos && is_folder(snapshots / revision))
    return (snapshots / revision).string();
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(snapshots, ignored))
    if (is_there(entry.path() / "config.json")) found.push_back(entry.path().string());
  if (found.size() == 1) return found.front();
  throw Error(ErrorKind::input, "model.snapshot",
              concat(escaped(folder), ": is a Hugging Face cache folder with ", found.size(),
                     " snapshots, and refs/main names none of them; give one of the folders in ",
                     escaped(snapshots.string())));
}

// "gpt2" for …/models--openai--gpt2/snapshots/607a30d…, because the hash means nothing to readers.
std::string name_of_folder(const fs::path& path) {
  const std::string cache = path.parent_path().parent_path().filename().string();
  if (path.parent_path().filename() == "snapshots" && cache.starts_with("models--"))
    return cache.substr(cache.rfind("--") + 2);
  return path.filename().string();
}

std::string last_name(const std::string& folder) {
  fs::path path(folder);
  if (path.filename().empty()) path = path.parent_path();
  return name_of_folder(path);
}

}  // namespace

Index LoadedModel::layers(Part part) const { return static_cast<Index>(model->config().layers(part).size()); }

Index LoadedModel::heads(Part part) const { return model->config().layers(part).front().attention.heads; }

bool LoadedModel::has(Part part) const {
  const ModelKind kind = model->config().kind;
  if (kind == ModelKind::encoder_decoder) return true;
  return part == (kind == ModelKind::encoder ? Part::encoder : Part::decoder);
}

Part LoadedModel::usual_part() const {
  return model->config().kind == ModelKind::decoder ? Part::decoder : Part::encoder;
}

std::vector<std::string> model_names(const std::vector<std::string>& places) {
  constexpr std::string_view own = "headlight-";
  std::set<std::string> names;
  std::error_code ignored;
  for (const std::string& place : places) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored)) {
      if (!is_there(entry.path() / "config.json") && !models::is_gguf(entry.path().string())) continue;
      const std::string name = entry.path().filename().string();
      names.insert(name.starts_with(own) ? name.substr(own.size()) : name);
    }
  }
  return {names.begin(), names.end()};
}

std::string find_model(const std::string& name, const std::vector<std::string>& places) {
  if (is_folder(name)) return snapshot_of(name);
  if (is_there(name)) {
    if (models::is_gguf(name)) return name;
    throw Error(ErrorKind::input, "model.folder",
                concat(escaped(name), ": is a file; give a model folder or a .gguf file"));
  }
  if (const std::size_t plus = name.rfind('+'); plus != std::string::npos)  // with an adapter
    return concat(find_model(name.substr(0, plus), places), name.substr(plus));
  std::string looked = concat("\"", escaped(name), "\"");
  if (name.find('/') == std::string::npos) {
    for (const std::string& place : places) {
      const fs::path path = fs::path(place) / name, own = fs::path(place) / ("headlight-" + name);
      if (is_folder(path)) return snapshot_of(path.string());
      if (models::is_gguf(path.string()) && is_there(path)) return path.string();
      if (is_folder(own)) return own.string();
      looked += concat(", \"", escaped(path.string(), 80), "\" and \"", escaped(own.string(), 80), "\"");
    }
  }
  const std::vector<std::string> names = model_names(places);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view close = nearest_typed_name(name, known);
  throw Error(ErrorKind::file, "model.name",
              concat("model \"", escaped(name), "\" was not found",
                     close.empty() ? "" : concat("; did you mean \"", escaped(std::string(close), 60), "\"?"),
                     "\n"
                     "Searched ",
                     looked,
                     ".\nHeadlight does not download; give a folder with config.json and model.safetensors, "
                     "or a .gguf file."));
}

ModelPath find_adapted_model(const std::string& name, const std::vector<std::string>& places) {
  const std::size_t plus = name.rfind('+');
  if (!is_there(name) && plus != std::string::npos) {
    const std::string adapter = name.substr(plus + 1);
    if (!models::is_adapter(adapter))
      throw Error(is_folder(adapter) ? ErrorKind::input : ErrorKind::file, "adapter.folder",
                  concat("\"", escaped(adapter), "\" is not the folder of an adapter: it has no ",
                         models::kAdapterConfig));
    return {find_model(name.substr(0, plus), places), adapter};
  }
  std::string path = find_model(name, places);
  if (!models::is_adapter(path)) return {std::move(path), {}};
  const std::string base = models::AdapterFile(path).base();
  try {
    return {find_model(base, places), path};
  } catch (const Error& error) {
    throw Error(error.kind(), error.code(),
                concat(escaped(path), ": is an adapter for \"", escaped(base, 100),
                       "\", which is not here; say where that model is with --model MODEL --adapter ",
                       escaped(path)));
  }
}

namespace {

std::unique_ptr<text::KnownWords> read_known_words(const std::string& folder) {
  const std::string path = (fs::path(folder) / "known_words.txt").string();
  if (models::is_gguf(folder) || !is_there(path)) return nullptr;
  constexpr std::uint64_t kMost = 64U << 20U;
  const std::vector<std::byte> bytes = io::read_file(path, kMost);
  return std::make_unique<text::KnownWords>(
      path, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace

LoadedModel open_model(const std::string& name, const std::vector<std::string>& places, Accept accept) {
  LoadedModel loaded;
  const ModelPath found = find_adapted_model(name, places);
  loaded.folder = found.model;
  if (!models::is_gguf(loaded.folder)) check_folder(loaded.folder);
  loaded.name = last_name(loaded.folder);
  if (!found.adapter.empty()) loaded.name += concat("+", last_name(found.adapter));
  models::OpenedModel opened = models::open_model(loaded.folder, {.adapter = found.adapter});
  loaded.model = std::move(opened.transformer);
  loaded.recurrent = std::move(opened.recurrent);
  loaded.tokenizer = std::move(opened.tokenizer);
  loaded.notices = std::move(opened.notices);
  if (loaded.tokenizer) loaded.words = read_known_words(loaded.folder);
  if (loaded.recurrent && accept == Accept::transformers) {
    throw Error(ErrorKind::input, "model.family",
                concat(escaped(loaded.folder), ": is a recurrent model, which has no attention heads\n",
                       "To translate with it: headlight translate --model FOLDER"));
  }
  return loaded;
}

}  // namespace headlight::inspect
