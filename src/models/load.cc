#include "models/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "io/file.h"
#include "models/families.h"
#include "models/int8_rows.h"
#include "models/stored_weights.h"

namespace headlight::models {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// The shards that an index names: plain names in the same folder.
std::set<std::string> shards_of(const std::string& path) {
  const io::Json index = io::Json::read(path);
  std::set<std::string> names;
  for (const io::Json& shard : index.object("weight_map").items()) {
    const std::string& name = shard.text();
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos ||
        name == "..") {
      throw Error(ErrorKind::input, "model.index",
                  fmt::format("{}: shard \"{}\" is not a file of this folder", path, escaped(name)));
    }
    names.insert(name);
  }
  return names;
}

bool same_shape(const io::SafetensorsEntry& entry, const Shape& shape) {
  return entry.shape.size() == static_cast<std::size_t>(shape.rank) &&
         std::equal(entry.shape.begin(), entry.shape.end(), shape.dims.begin());
}

std::string shape_text(const io::SafetensorsEntry& entry) {
  return fmt::format("{} [{}]", entry.dtype, fmt::join(entry.shape, ", "));
}

}  // namespace

WeightFiles::WeightFiles(const std::string& folder) {
  const std::filesystem::path base(folder);
  std::error_code ignored;
  if (std::filesystem::exists(base / kSingle, ignored)) {
    files_.push_back(io::Safetensors::open((base / kSingle).string()));
  } else if (std::filesystem::exists(base / kIndex, ignored)) {
    for (const std::string& name : shards_of((base / kIndex).string()))
      files_.push_back(io::Safetensors::open((base / name).string()));
  } else {
    throw Error(ErrorKind::file, "model.weights",
                fmt::format("{}: has no weights; need {}, or {} with its shards beside it", escaped(folder),
                            kSingle, kIndex));
  }
}

WeightFiles::Place WeightFiles::find(const std::string& name) const {
  for (const io::Safetensors& file : files_)
    if (const io::SafetensorsEntry* entry = file.find(name)) return {&file, entry};
  return {};
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> list;
  for (const io::Safetensors& file : files_)
    for (const io::SafetensorsEntry& entry : file.entries()) list.push_back(entry.name);
  return list;
}

double WeightFiles::elements() const {
  double sum = 0;
  for (const io::Safetensors& file : files_)
    for (const io::SafetensorsEntry& entry : file.entries()) {
      double count = 1;
      for (const Index n : entry.shape) count *= static_cast<double>(n);
      sum += count;
    }
  return sum;
}

std::vector<std::string> load_parameters(const WeightFiles& files, const std::string& folder,
                                         Transformer& model) {
  const Family& family = find_family(model.config().family);
  const std::vector<std::string> names = files.names();
  std::set<std::string> left(names.begin(), names.end());
  for (Parameter* parameter : model.parameters()) {
    std::string name = parameter->name;
    WeightFiles::Place place = files.find(name);
    if (place.entry == nullptr && !family.prefix.empty() && name.starts_with(family.prefix)) {
      // A checkpoint of the bare model, without its head.
      const std::string bare = name.substr(family.prefix.size());
      place = files.find(bare);
      if (place.entry != nullptr) name = bare;
    }
    if (place.entry == nullptr) {
      if (!parameter->trained) continue;  // fixed numbers: zero unless a file says otherwise
      const std::vector<std::string_view> known(names.begin(), names.end());
      const std::string_view near = nearest_name(name, known);
      throw Error(
          ErrorKind::input, "model.missing",
          fmt::format("{}: weight \"{}\" not found among {} tensors{}", escaped(folder), name, names.size(),
                      near.empty() ? "" : fmt::format("; the closest is \"{}\"", escaped(near))));
    }
    if (!same_shape(*place.entry, parameter->shape())) {
      throw Error(ErrorKind::input, "model.shape",
                  fmt::format("{}: weight \"{}\" is {}; config.json makes it {}", escaped(folder), name,
                              shape_text(*place.entry), parameter->shape().text()));
    }
    if (!parameter->stored.empty()) {
      give_matrix(files, place, *parameter);
      if (is_int8_matrix(*place.entry)) left.erase(scale_name(name));
    } else if (is_int8_matrix(*place.entry)) {
      load_int8_matrix(files, place, parameter->value);
      left.erase(scale_name(name));
    } else {
      place.file->load(*place.entry, parameter->value);
    }
    left.erase(name);
  }
  return {left.begin(), left.end()};
}

LoadedTransformer load_transformer(const std::string& folder, DType dtype, nn::Weights weights) {
  const io::Json json = io::Json::read((std::filesystem::path(folder) / "config.json").string());
  TransformerConfig config = read_config(json);
  config.dtype = dtype;
  config.weights = dtype == DType::f32 ? weights : nn::Weights::own;
  const std::vector<std::byte> text =
      io::read_file((std::filesystem::path(folder) / "config.json").string(), std::uint64_t{64} << 20);
  config.source.assign(reinterpret_cast<const char*>(text.data()), text.size());
  LoadedTransformer loaded;
  const WeightFiles files(folder);
  // A config may say anything; memory is taken only for what the files can fill.
  const double wanted = least_parameters(config), there = files.elements();
  if (wanted > there) {
    throw Error(
        ErrorKind::input, "model.size",
        fmt::format("{}: config.json describes a model of {:.0f} parameters; its files have {:.0f} numbers",
                    escaped(folder), wanted, there));
  }
  try {
    loaded.model = std::make_unique<Transformer>(config);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw Error(ErrorKind::input, error.code(), fmt::format("{}: {}", json.file(), error.what()));
  }
  loaded.unused = load_parameters(files, folder, *loaded.model);
  return loaded;
}

}  // namespace headlight::models
