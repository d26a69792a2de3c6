#include "train/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/version.h"
#include "io/file.h"
#include "io/folder_writer.h"
#include "io/hash.h"
#include "io/safetensors.h"
#include "train/checkpoint_manifest.h"

namespace headlight::train {
namespace {

constexpr const char *kTraining = "training.safetensors", *kTokenizer = "tokenizer.json";

std::span<const std::byte> bytes_of(const ConstTensorView& tensor) {
  return {static_cast<const std::byte*>(tensor.data()),
          static_cast<std::size_t>(tensor.shape().elements()) * size_of(tensor.dtype())};
}

// The parameters to use for inference: the moving average, if there is one.
std::vector<io::NamedTensor> model_tensors(const CheckpointParts& parts) {
  std::vector<io::NamedTensor> tensors;
  for (Parameter* parameter : parts.model->parameters())
    tensors.push_back({parts.model->file_name(*parameter), parameter->value});
  if (parts.adam == nullptr || parts.adam->config().average <= 0) return tensors;
  for (const AdamW::State& state : parts.adam->states()) {
    for (io::NamedTensor& tensor : tensors)
      if (tensor.name == parts.model->file_name(*state.parameter)) tensor.tensor = state.averaged;
  }
  return tensors;
}

std::vector<io::NamedTensor> training_tensors(const models::Trainable& model, const AdamW& adam) {
  std::vector<io::NamedTensor> tensors;
  for (const AdamW::State& state : adam.states()) {
    const std::string name = model.file_name(*state.parameter);
    tensors.push_back({"m." + name, state.m});
    tensors.push_back({"v." + name, state.v});
    if (!state.averaged.empty()) tensors.push_back({"value." + name, state.parameter->value});
  }
  return tensors;
}

class Saver {
 public:
  Saver(const std::string& parent, const std::string& name) : writer_(parent, name) {}

  void text(const std::string& file, std::string_view text) {
    begin(file);
    write(std::as_bytes(std::span(text)));
    end();
  }
  void tensors(const std::string& file, std::span<const io::NamedTensor> tensors,
               const io::Metadata& metadata) {
    begin(file);
    const std::string header = io::safetensors_header(tensors, metadata);
    write(std::as_bytes(std::span(header)));
    for (const io::NamedTensor& named : tensors) {
      facts_.tensors.emplace_back(named.name, io::hash_text(bytes_of(named.tensor)));
      write(bytes_of(named.tensor));
    }
    end();
  }
  void commit(Manifest manifest) {
    manifest.files = std::move(files_);
    writer_.begin(kManifestName);
    writer_.write(manifest_text(manifest));
    writer_.end();
    writer_.commit();
  }

 private:
  void begin(const std::string& file) {
    facts_ = {file, 0, {}, {}};
    hash_ = io::Hash64();
    writer_.begin(file);
  }
  void write(std::span<const std::byte> bytes) {
    facts_.bytes += bytes.size();
    hash_.update(bytes);
    writer_.write(bytes);
  }
  void end() {
    writer_.end();
    facts_.hash = hash_.text();
    files_.push_back(std::move(facts_));
  }

  io::FolderWriter writer_;
  std::vector<FileFacts> files_;
  FileFacts facts_;
  io::Hash64 hash_;
};

const FileFacts* find(const Manifest& manifest, std::string_view name) {
  for (const FileFacts& file : manifest.files)
    if (file.name == name) return &file;
  return nullptr;
}

// The first tensor whose checksum is wrong, for the message; nothing when the file cannot even be opened.
std::string damaged_tensor(const std::string& path, const FileFacts& facts) {
  try {
    const io::Safetensors file = io::Safetensors::open(path);
    for (const auto& [name, hash] : facts.tensors) {
      const io::SafetensorsEntry* entry = file.find(name);
      if (entry == nullptr || io::hash_text(file.bytes(*entry)) != hash)
        return concat(", at tensor \"", escaped(name, 80), "\"");
    }
  } catch (const Error&) {  // the header is damaged
  }
  return {};
}

void check_file(const std::string& folder, const FileFacts& facts) {
  if (facts.name.find('/') != std::string::npos) refuse_damaged(folder, "a file is outside the folder");
  const std::string path = folder + "/" + facts.name;
  try {
    const io::File file(path);
    if (file.size() != facts.bytes)
      refuse_damaged(folder, concat(facts.name, " has ", file.size(), " bytes instead of ", facts.bytes));
    io::Hash64 hash;
    std::vector<std::byte> buffer(
        static_cast<std::size_t>(std::min<std::uint64_t>(facts.bytes, std::uint64_t{1} << 20)));
    for (std::uint64_t at = 0; at < facts.bytes; at += buffer.size()) {
      const auto piece = std::span(buffer).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), facts.bytes - at)));
      file.read(at, piece);
      hash.update(piece);
    }
    if (hash.text() != facts.hash)
      refuse_damaged(folder, concat(facts.name, " does not match its checksum", damaged_tensor(path, facts)));
  } catch (const Error& error) {
    if (error.code() == "checkpoint.damaged") throw;
    refuse_damaged(folder, error.what());
  }
}

[[noreturn]] void refuse_difference(const std::string& folder, const std::string& what) {
  throw Error(ErrorKind::input, "checkpoint.differs", concat(escaped(folder), ": ", what));
}

void check_recipe(const std::string& folder, const Facts& saved, const Facts& now, const LoadRules& rules) {
  const auto among = [](const std::vector<std::string>& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  const auto free = [&](const std::string& key) { return among(rules.may_differ, key); };
  const auto value = [](const Facts& facts, const std::string& key) -> const std::string* {
    for (const auto& [name, text] : facts)
      if (name == key) return &text;
    return nullptr;
  };
  for (const auto& [key, text] : now) {
    const std::string* before = value(saved, key);
    if (before == nullptr && among(rules.defaults, key)) continue;
    if (!free(key) && (before == nullptr || *before != text)) {
      refuse_difference(
          folder, concat("was made with ", key, " = ", before == nullptr ? "nothing" : escaped(*before, 60),
                         "; the recipe says ", escaped(text, 60)));
    }
  }
  for (const auto& [key, text] : saved) {
    if (!free(key) && value(now, key) == nullptr)
      refuse_difference(
          folder, concat("was made with ", key, " = ", escaped(text, 60), "; the recipe does not have it"));
  }
}

void check_data(const std::string& folder, const std::vector<DataFile>& saved,
                const std::vector<DataFile>& now) {
  for (std::size_t i = 0; i < std::max(saved.size(), now.size()); ++i) {
    if (i < saved.size() && i < now.size() && saved[i].bytes == now[i].bytes && saved[i].hash == now[i].hash)
      continue;
    const std::string& path = i < now.size() ? now[i].path : saved[i].path;
    throw Error(
        ErrorKind::input, "checkpoint.data",
        concat(escaped(path), ": has changed since the checkpoint ", escaped(folder), " was made",
               "\n"
               "  --allow-data-change continues with the new data; the run is then not reproducible."));
  }
}

// In both directions: nothing missing, nothing left over, the same shape and type.
void check_tensors(const std::string& folder, const io::Safetensors& file,
                   std::span<const io::NamedTensor> wanted) {
  for (const io::NamedTensor& tensor : wanted) {
    const io::SafetensorsEntry* entry = file.find(tensor.name);
    if (entry == nullptr)
      refuse_difference(folder,
                        concat("has no tensor \"", escaped(tensor.name, 80), "\", which this model has"));
    const bool scalar = entry->shape.empty() && tensor.tensor.shape() == Shape{1};
    const Shape shape = scalar ? Shape{1} : entry->shape.size() > kMaxRank ? Shape{} : Shape(entry->shape);
    if (entry->dtype != io::safetensors_type(tensor.tensor.dtype()) || shape != tensor.tensor.shape()) {
      refuse_difference(
          folder, concat("tensor \"", escaped(tensor.name, 80), "\" is ", entry->dtype, " ", shape.text(),
                         "; this model has ", io::safetensors_type(tensor.tensor.dtype()), " ",
                         tensor.tensor.shape().text()));
    }
  }
  if (file.entries().size() != wanted.size()) {
    std::set<std::string_view> names;
    for (const io::NamedTensor& tensor : wanted) names.insert(tensor.name);
    for (const io::SafetensorsEntry& entry : file.entries()) {
      if (names.count(entry.name) == 0)
        refuse_difference(folder,
                          concat("has a tensor \"", escaped(entry.name, 80), "\", which this model lacks"));
    }
  }
}

void load_tensors(const io::Safetensors& file, std::span<const io::NamedTensor> into) {
  for (const io::NamedTensor& tensor : into) {
    const ConstTensorView& view = tensor.tensor;
    file.load(file.at(tensor.name), TensorView(const_cast<void*>(view.data()), view.dtype(), view.shape()));
  }
}

}  // namespace

void save_checkpoint(const std::string& parent, const std::string& name, const CheckpointParts& parts,
                     const TrainingState& progress) {
  Saver saver(parent, name);
  const models::SavedFiles files = parts.model->saved_files();
  saver.text(files.config, parts.model->config_json());
  if (!parts.tokenizer_json.empty()) saver.text(kTokenizer, parts.tokenizer_json);
  saver.tensors(files.weights, model_tensors(parts), {{"format", "pt"}});  // read by other programs here
  if (parts.adam != nullptr) saver.tensors(kTraining, training_tensors(*parts.model, *parts.adam), {});
  Manifest manifest;
  manifest.program = std::string(kVersion);
  manifest.progress = progress;
  manifest.has_optimizer = parts.adam != nullptr;
  manifest.recipe = parts.recipe;
  manifest.data = parts.data;
  saver.commit(std::move(manifest));
}

TrainingState load_checkpoint(const std::string& folder, const CheckpointParts& parts,
                              const LoadRules& rules) {
  const Manifest manifest = read_manifest(folder);
  for (const FileFacts& file : manifest.files) check_file(folder, file);
  check_recipe(folder, manifest.recipe, parts.recipe, rules);
  if (!rules.data_may_differ) check_data(folder, manifest.data, parts.data);
  const char* weights = parts.model->saved_files().weights;
  if (find(manifest, weights) == nullptr) refuse_damaged(folder, concat(weights, " is missing"));
  const std::vector<io::NamedTensor> model = model_tensors(parts);
  const io::Safetensors model_file = io::Safetensors::open(folder + "/" + weights);
  check_tensors(folder, model_file, model);
  if (parts.adam != nullptr) {
    if (!manifest.has_optimizer || find(manifest, kTraining) == nullptr)
      refuse_difference(folder, "has no optimizer state: it is a model, not a checkpoint to resume from");
    const std::vector<io::NamedTensor> training = training_tensors(*parts.model, *parts.adam);
    const io::Safetensors training_file = io::Safetensors::open(folder + "/" + kTraining);
    check_tensors(folder, training_file, training);
    load_tensors(training_file, training);
    parts.adam->set_steps(manifest.progress.step);
  }
  load_tensors(model_file, model);
  return manifest.progress;
}

std::string checkpoint_tokenizer(const std::string& folder) {
  const Manifest manifest = read_manifest(folder);
  const FileFacts* file = find(manifest, kTokenizer);
  if (file == nullptr) return {};
  check_file(folder, *file);
  const std::vector<std::byte> bytes = io::read_file(folder + "/" + kTokenizer, file->bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headlight::train
