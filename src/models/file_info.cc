#include "models/file_info.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "io/npy.h"
#include "models/adapter_file.h"
#include "models/file_format.h"
#include "models/model_files.h"
#include "models/stored_weights.h"
#include "models/tokenizer_file.h"
#include "text/tokenizer_model.h"

namespace headlight::models {
namespace {

std::string first_line(const Error& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::string kind_of(const Tokenizer& tokenizer) {
  const text::ModelParts& model = tokenizer.model().parts().model;
  if (const auto* bpe = std::get_if<text::BpeParts>(&model))
    return bpe->byte_fallback ? "BPE with byte fallback" : "BPE";
  if (std::holds_alternative<text::UnigramParts>(model)) return "unigram";
  if (std::holds_alternative<text::WordPieceParts>(model)) return "WordPiece";
  if (std::holds_alternative<text::WordLevelParts>(model)) return "whole words";
  if (std::holds_alternative<text::SentencePairParts>(model)) return "two SentencePiece models";
  const bool bpe = std::get<text::SentencePieceParts>(model).kind == text::SentencePieceParts::Kind::bpe;
  return bpe ? "SentencePiece BPE" : "SentencePiece unigram";
}

// Blocks at a time, so that a large tensor takes no large memory.
std::uint64_t nan_in(const WeightSource& weights, const StoredTensor& tensor) {
  const io::BlockType* type = io::find_block_type(tensor.type);
  if (type == nullptr || !type->loads()) return 0;
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 18;
  const std::uint64_t step = kAtOnce / type->bytes * type->bytes;
  std::vector<std::byte> bytes;
  std::vector<float> floats;
  std::uint64_t count = 0;
  for (std::uint64_t at = 0; at < tensor.size; at += step) {
    bytes.resize(static_cast<std::size_t>(std::min(step, tensor.size - at)));
    floats.resize(bytes.size() / type->bytes * type->elements);
    weights.read(tensor.name, at, bytes);
    io::dequantize(*type, bytes, floats.data());
    for (const float x : floats) count += std::isnan(x) ? 1 : 0;
  }
  return count;
}

std::string adapter_weights(const std::string& folder) { return folder + "/" + kAdapterWeights; }

class Describer {
 public:
  Describer(FileInfo& info, Count count) : info_(info), count_(count) {}

  void folder() {
    info_.format = "model folder";
    const io::Folder folder(info_.path);
    if (is_adapter(info_.path)) return adapter();
    if (folder.has("config.json")) return model(ModelFiles(info_.path));
    if (folder.has("model.safetensors")) return tensors(SafetensorsWeights(folder));
    info_.format = "tokenizer folder";
    set(load_tokenizer(info_.path));
  }

  void gguf() {
    const ModelFiles files(info_.path);
    const io::Gguf& file = *files.gguf();
    info_.format = file.files() > 1
                       ? fmt::format("GGUF in {} files, version {}", file.files(), file.version())
                       : fmt::format("GGUF file, version {}", file.version());
    model(files);
  }

  void safetensors() {
    info_.format = "safetensors file";
    tensors(SafetensorsWeights(io::Safetensors::open(info_.path)));
  }

  void npy() {
    info_.format = "npy array";
    const io::NpyHeader header = io::read_npy_header(info_.path);
    TensorInfo tensor;
    tensor.name = std::filesystem::path(info_.path).stem().string();
    tensor.type = io::safetensors_type(header.dtype);
    tensor.shape.assign(header.shape.dims.begin(), header.shape.dims.begin() + header.shape.rank);
    tensor.bytes = info_.bytes = header.elements * size_of(header.dtype);
    info_.tensors.push_back(std::move(tensor));
  }

  void tokenizer_file() {
    info_.format = "tokenizer";
    set(load_tokenizer(info_.path));
  }

 private:
  void adapter() {
    info_.format = "adapter folder";
    const AdapterFile file(info_.path);
    info_.adapter = {file.rank(), static_cast<Index>(file.modules().size()), file.alpha(), file.base()};
    tensors(SafetensorsWeights(io::Safetensors::open(adapter_weights(info_.path))));
    const FoundTokenizer found = find_tokenizer(io::Folder(info_.path));
    if (found.tokenizer) set(*found.tokenizer);
  }

  void model(const ModelFiles& files) {
    tensors(files.stored_weights());
    info_.notices = files.notices();
    info_.architecture = files.architecture();
    const bool has_model =
        files.gguf() == nullptr || files.gguf()->find_tensor("token_embd.weight") != nullptr;
    if (has_model) info_.unsupported = refusal([&] { describe(files); });
    info_.tokenizer_refused = refusal([&] {
      if (const FoundTokenizer found = files.find_tokenizer(); found.tokenizer) set(*found.tokenizer);
    });
  }

  void describe(const ModelFiles& files) {
    if (files.is_recurrent()) {
      info_.recurrent = files.describe_recurrent();
      return;
    }
    DescribedTransformer described = files.describe();
    info_.config = std::move(described.config);
    for (std::string& notice : described.notices) info_.notices.push_back(std::move(notice));
  }

  void tensors(const WeightSource& weights) {
    const std::vector<StoredTensor> list = weights.tensors();
    for (const StoredTensor& t : list) {
      info_.tensors.push_back({std::string(t.name), std::string(t.type), t.shape, t.size});
      info_.bytes += t.size;
    }
    if (count_ != Count::all && info_.bytes > kCountedUnasked) return;
    info_.nan = 0;
    for (const StoredTensor& t : list) *info_.nan += nan_in(weights, t);
  }

  void set(const Tokenizer& tokenizer) { info_.tokenizer = {kind_of(tokenizer), tokenizer.size()}; }

  // Reports the contents even if they are not supported, with the reason.
  template <class Read>
  static std::string refusal(const Read& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      return first_line(error);
    }
    return "";
  }

  FileInfo& info_;
  Count count_;
};

[[noreturn]] void refuse_name(const WeightSource& weights, const std::string& name) {
  const std::vector<StoredTensor> all = weights.tensors();
  std::vector<std::string_view> known;
  known.reserve(all.size());
  for (const StoredTensor& tensor : all) known.push_back(tensor.name);
  const std::string_view near = nearest_name(name, known);
  throw Error(ErrorKind::input, "info.tensor",
              fmt::format("{}: tensor \"{}\" not found among {}{}", escaped(weights.name()),
                          escaped(name, 80), known.size(),
                          near.empty() ? "" : fmt::format("; the closest is \"{}\"", escaped(near, 80))));
}

LoadedTensor load_from(const WeightSource& weights, const std::string& name) {
  const auto stored = weights.find(name);
  if (!stored) refuse_name(weights, name);
  if (stored->shape.size() > static_cast<std::size_t>(kMaxRank)) {
    throw Error(ErrorKind::input, "info.rank",
                fmt::format("{}: tensor \"{}\" has {} axes; this program works with up to {}",
                            escaped(weights.name()), escaped(name, 80), stored->shape.size(), kMaxRank));
  }
  const bool whole = stored->type.starts_with('I') && !stored->type.starts_with("IQ");
  const DType as = stored->type == "F64"                    ? DType::f64
                   : whole || stored->type.starts_with('U') ? DType::i64
                   : stored->type == "BOOL"                 ? DType::boolean
                                                            : DType::f32;
  LoadedTensor loaded;
  loaded.info = {name, std::string(stored->type), stored->shape, stored->size};
  loaded.shape = Shape(stored->shape);
  loaded.tensor = Tensor::uninitialized(stored->shape.empty() ? Shape{1} : loaded.shape, as);
  weights.load(name, loaded.tensor);
  return loaded;
}

}  // namespace

double TensorInfo::elements() const {
  double count = 1;
  for (const Index n : shape) count *= static_cast<double>(n);
  return count;
}

double FileInfo::elements() const {
  double sum = 0;
  for (const TensorInfo& tensor : tensors) sum += tensor.elements();
  return sum;
}

double FileInfo::memory_for_weights() const {
  double sum = 0;
  for (const TensorInfo& tensor : tensors) {
    const bool matrix = tensor.shape.size() == 2;
    sum += matrix && is_usable(tensor.type) ? static_cast<double>(tensor.bytes) : 4 * tensor.elements();
  }
  return sum;
}

double FileInfo::memory_per_token() const {
  if (!config || config->kind == ModelKind::encoder) return 0;
  double sum = 0;
  for (const nn::BlockConfig& block : config->decoder)
    sum += 2 * 4 * static_cast<double>(block.attention.kv_heads * block.attention.head_dim);
  return sum;
}

FileInfo describe_file(const std::string& path, Count count) {
  FileInfo info;
  info.path = path;
  Describer describer(info, count);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    describer.folder();
    return info;
  }
  switch (format_of(path)) {
    case FileFormat::gguf: describer.gguf(); break;
    case FileFormat::safetensors: describer.safetensors(); break;
    case FileFormat::npy: describer.npy(); break;
    case FileFormat::tokenizer: describer.tokenizer_file(); break;
  }
  return info;
}

LoadedTensor load_tensor(const std::string& path, const std::string& name) {
  std::error_code ignored;
  if (is_adapter(path))
    return load_from(SafetensorsWeights(io::Safetensors::open(adapter_weights(path))), name);
  if (std::filesystem::is_directory(path, ignored))
    return load_from(SafetensorsWeights(io::Folder(path)), name);
  switch (format_of(path)) {
    case FileFormat::gguf: return load_from(GgufWeights(io::Gguf::open(path)), name);
    case FileFormat::safetensors: return load_from(SafetensorsWeights(io::Safetensors::open(path)), name);
    case FileFormat::npy:
    case FileFormat::tokenizer: break;
  }
  throw Error(ErrorKind::usage, "info.tensor", fmt::format("{}: has no named tensors", escaped(path)));
}

TensorSummary summary_of(const Tensor& tensor) {
  TensorSummary s;
  const ConstTensorView flat(tensor.view().data(), tensor.dtype(), {tensor.shape().elements()});
  for (Index i = 0; i < flat.dim(0); ++i) {
    const double x = flat.at(i);
    if (std::isnan(x)) ++s.nan;
    else if (std::isinf(x)) ++s.infinite;
    else ++s.finite, s.sum += x, s.least = std::min(s.least, x), s.most = std::max(s.most, x);
  }
  return s;
}

}  // namespace headlight::models
