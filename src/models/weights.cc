#include "models/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/escape.h"
#include "headlight/error.h"
#include "io/json.h"

namespace headlight::models {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::uint64_t kLargestIndex = std::uint64_t{64} << 20;

[[noreturn]] void refuse_index(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::input, "model.index", fmt::format("{}: {}", escaped(path), what));
}

StoredTensor stored(const io::SafetensorsEntry& entry) {
  return {entry.name, entry.dtype, entry.shape, entry.end - entry.begin};
}
StoredTensor stored(const io::GgufTensor& tensor) {
  const auto dims = std::span(tensor.shape.dims).first(static_cast<std::size_t>(tensor.shape.rank));
  return {tensor.name, tensor.type->name, {dims.begin(), dims.end()}, tensor.bytes};
}

}  // namespace

double WeightSource::elements() const {
  double sum = 0;
  for (const StoredTensor& tensor : tensors()) {
    double count = 1;
    for (const Index n : tensor.shape) count *= static_cast<double>(n);
    sum += count;
  }
  return sum;
}

SafetensorsWeights::SafetensorsWeights(const io::Folder& folder) : name_(folder.path()) {
  if (folder.has(kSingle)) {
    if (folder.has(kIndex))
      notices_.push_back(fmt::format("{}: has {} and {}; using the first", escaped(name_), kSingle, kIndex));
    files_.push_back(io::Safetensors::open(folder.open(kSingle)));
  } else if (folder.has(kIndex)) {
    open_shards(folder);
  } else {
    throw Error(ErrorKind::file, "model.weights",
                fmt::format("{}: has no parameters; need {}, or {} with its shards in the same folder",
                            escaped(name_), kSingle, kIndex));
  }
}

SafetensorsWeights::SafetensorsWeights(io::Safetensors file) : name_(file.name()) {
  files_.push_back(std::move(file));
}

// An index maps tensors to shards, and must agree with the shards.
void SafetensorsWeights::open_shards(const io::Folder& folder) {
  const std::string path = folder.path_of(kIndex);
  const io::Json index = io::Json::parse(folder.read(kIndex, kLargestIndex), path);
  const io::Json& map = index.object("weight_map");
  std::map<std::string, std::size_t> shards;
  for (const io::Json& shard : map.items()) shards.emplace(shard.text(), 0);
  for (auto& [shard, number] : shards) {
    number = files_.size();
    files_.push_back(io::Safetensors::open(folder.open(shard, ErrorKind::input)));
  }
  std::map<std::string_view, const io::Safetensors*> owners;
  for (const io::Safetensors& file : files_)
    for (const io::SafetensorsEntry& entry : file.entries()) {
      const auto [other, fresh] = owners.emplace(entry.name, &file);
      if (!fresh)
        refuse_index(path, fmt::format("tensor \"{}\" is in {} and in {}", escaped(entry.name, 80),
                                       escaped(other->second->name(), 80), escaped(file.name(), 80)));
    }
  for (std::size_t i = 0; i < map.items().size(); ++i) {
    const io::Safetensors& file = files_[shards.at(map.items()[i].text())];
    if (file.find(map.keys()[i]) == nullptr)
      refuse_index(path, fmt::format("tensor \"{}\" is not in {}, where the index says it is",
                                     escaped(map.keys()[i], 80), escaped(file.name(), 80)));
  }
}

SafetensorsWeights::Place SafetensorsWeights::place(std::string_view name) const {
  for (const io::Safetensors& file : files_)
    if (const io::SafetensorsEntry* entry = file.find(name)) return {&file, entry};
  return {};
}

std::vector<StoredTensor> SafetensorsWeights::tensors() const {
  std::vector<StoredTensor> list;
  for (const io::Safetensors& file : files_)
    for (const io::SafetensorsEntry& entry : file.entries()) list.push_back(stored(entry));
  return list;
}

std::optional<StoredTensor> SafetensorsWeights::find(std::string_view name) const {
  const Place found = place(name);
  if (found.entry == nullptr) return std::nullopt;
  return stored(*found.entry);
}

SafetensorsWeights::Place SafetensorsWeights::present(std::string_view name) const {
  const Place found = place(name);
  if (found.entry != nullptr) return found;
  throw Error(ErrorKind::usage, "weights.absent",
              fmt::format("{}: has no tensor \"{}\"", escaped(name_), escaped(name, 80)));
}

std::span<const std::byte> SafetensorsWeights::bytes(std::string_view name) const {
  const Place found = present(name);
  return found.file->bytes(*found.entry);
}

std::shared_ptr<const void> SafetensorsWeights::owner(std::string_view name) const {
  return present(name).file->owner();
}

void SafetensorsWeights::read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const {
  const Place found = present(name);
  found.file->read(*found.entry, offset, to);
}

void SafetensorsWeights::load(std::string_view name, TensorView to) const {
  const Place found = present(name);
  found.file->load(*found.entry, to);
}

std::vector<StoredTensor> GgufWeights::tensors() const {
  std::vector<StoredTensor> list;
  for (const io::GgufTensor& tensor : file_.tensors()) list.push_back(stored(tensor));
  return list;
}

std::optional<StoredTensor> GgufWeights::find(std::string_view name) const {
  const io::GgufTensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr) return std::nullopt;
  return stored(*tensor);
}

std::span<const std::byte> GgufWeights::bytes(std::string_view name) const {
  return file_.bytes(*file_.find_tensor(name));
}

std::shared_ptr<const void> GgufWeights::owner(std::string_view name) const {
  return file_.owner(*file_.find_tensor(name));
}

void GgufWeights::read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const {
  file_.read(*file_.find_tensor(name), offset, to);
}

void GgufWeights::load(std::string_view name, TensorView to) const {
  const io::GgufTensor& tensor = *file_.find_tensor(name);
  const auto elements = static_cast<std::size_t>(tensor.elements);
  if (to.dtype() == DType::f32) return file_.load(tensor, 0, {to.as<float>(), elements});
  const Tensor floats = file_.load(tensor);
  for (std::size_t i = 0; i < elements; ++i) to.as<double>()[i] = static_cast<double>(floats.as<float>()[i]);
}

}  // namespace headlight::models
