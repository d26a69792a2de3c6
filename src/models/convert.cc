#include "models/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/stored_matrix.h"
#include "io/file.h"
#include "io/folder_writer.h"
#include "io/safetensors.h"
#include "models/adapter_merge.h"
#include "models/gguf_folder.h"
#include "models/int8_rows.h"
#include "models/weights.h"

namespace headlight::models {
namespace {

namespace fs = std::filesystem;

constexpr Index kLeastSide = 16;  // smaller matrices are tables of positions or segments: nothing to gain
constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;  // of a file that is copied

// Files next to the parameters that are needed to use a model.
constexpr std::string_view kCompanions[] = {"config.json",
                                            "generation_config.json",
                                            "tokenizer.json",
                                            "tokenizer_config.json",
                                            "tokenizer.model",
                                            "spiece.model",
                                            "special_tokens_map.json",
                                            "added_tokens.json",
                                            "vocab.json",
                                            "merges.txt",
                                            "vocab.txt",
                                            "source.spm",
                                            "target.spm",
                                            "README.md",
                                            "LICENSE",
                                            "LICENSE.txt",
                                            "sentencepiece.bpe.model",
                                            "spm.model",
                                            "chat_template.jinja",
                                            "chat_template.json",
                                            "modules.json",
                                            "1_Pooling/config.json",
                                            "sentence_bert_config.json",
                                            "config_sentence_transformers.json"};

std::string_view file_type(StoredAs type) {
  switch (type) {
    case StoredAs::f16: return "F16";
    case StoredAs::bf16: return "BF16";
    case StoredAs::int8: return "I8";
    case StoredAs::f32: break;
  }
  return "F32";
}

bool is_real(const StoredTensor& tensor) {
  return tensor.type == "F32" || tensor.type == "F64" || tensor.type == "F16" || tensor.type == "BF16";
}

// One tensor of the new file, and where it comes from.
struct Piece {
  StoredTensor from;
  io::SafetensorsEntry to;
  bool scales = false;  // the factors of the int8 matrix `from`
};

[[nodiscard]] Index elements_of(std::span<const Index> shape) {
  Index count = 1;
  for (const Index n : shape) count *= n;
  return count;
}

class Plan {
 public:
  Plan(const WeightSource& weights, StoredAs type, Converted& report) {
    const std::vector<StoredTensor> tensors = weights.tensors();
    std::set<std::string, std::less<>> scales;
    for (const StoredTensor& tensor : tensors)
      if (is_int8_matrix(tensor)) scales.insert(scale_name(tensor.name));
    for (const StoredTensor& tensor : tensors) {
      if (scales.contains(tensor.name)) continue;
      if (!is_real(tensor) && !is_int8_matrix(tensor)) {
        report.left_out.emplace_back(tensor.name);
        continue;
      }
      const std::vector<Index>& shape = tensor.shape;
      const bool matrix = shape.size() == 2 && std::min(shape[0], shape[1]) >= kLeastSide;
      ++report.tensors;
      report.matrices += matrix ? 1 : 0;
      add(tensor, std::string(tensor.name), matrix ? file_type(type) : "F32", shape);
      if (matrix && type == StoredAs::int8) {
        add(tensor, scale_name(tensor.name), "F32", {shape[0]});
        pieces_.back().scales = true;
      }
    }
    place();
  }

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  [[nodiscard]] std::string header() const {
    std::vector<io::SafetensorsEntry> entries;
    for (const Piece& piece : pieces_) entries.push_back(piece.to);
    return io::safetensors_header(entries, {{"format", "pt"}});
  }
  [[nodiscard]] std::uint64_t bytes() const { return pieces_.empty() ? 0 : pieces_.back().to.end; }

 private:
  void add(const StoredTensor& from, const std::string& name, std::string_view type,
           const std::vector<Index>& shape) {
    pieces_.push_back({from, {name, std::string(type), shape, 0, 0}});
    io::SafetensorsEntry& to = pieces_.back().to;
    to.end =
        static_cast<std::uint64_t>(elements_of(shape)) * static_cast<std::uint64_t>(io::bits_of(type)) / 8;
  }
  // Tensors whose sizes are whole cache lines come first, then the others by decreasing power of two: every tensor
  // then starts at a multiple of its element and the large ones at a multiple of 64, so that all can be used in place in
  // the mapped file.
  void place() {
    const auto evenness = [](const Piece& piece) {
      return std::min(6, std::countr_zero(piece.to.end | (std::uint64_t{1} << 6)));
    };
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [&](const Piece& a, const Piece& b) { return evenness(a) > evenness(b); });
    std::uint64_t at = 0;
    for (Piece& piece : pieces_) {
      piece.to.begin = at;
      at = piece.to.end += at;
    }
  }

  std::vector<Piece> pieces_;
};

class Converter {
 public:
  Converter(const WeightSource& weights, const AdapterMerge* merger, io::FolderWriter& writer)
      : weights_(weights), merger_(merger), writer_(writer) {}

  void write(const Piece& piece) {
    const Tensor values = read(piece);
    const auto n = static_cast<std::size_t>(values.shape().elements());
    const std::span<const float> x(values.as<float>(), n);
    const std::string& type = piece.to.dtype;
    if (piece.scales || type == "I8") return write_int8(piece, x);
    if (type == "F32") return writer_.write(std::as_bytes(x));
    std::vector<std::uint16_t> bits(n);
    for (std::size_t i = 0; i < n; ++i) {
      float back = 0;
      if (type == "F16") {
        const F16 half = to_f16(static_cast<double>(x[i]));
        bits[i] = half.bits, back = to_float(half);
      } else {
        const BF16 half = to_bf16(static_cast<double>(x[i]));
        bits[i] = half.bits, back = to_float(half);
      }
      if (std::isinf(back) && !std::isinf(x[i])) refuse(piece, x[i], "is out of range for " + type);
      compare(x[i], back);
    }
    writer_.write(std::as_bytes(std::span(bits)));
  }
  [[nodiscard]] double relative_error() const { return norm_ > 0 ? std::sqrt(difference_ / norm_) : 0; }

 private:
  [[nodiscard]] Tensor read(const Piece& piece) const {
    Tensor values = Tensor::uninitialized({elements_of(piece.from.shape)});
    if (is_int8_matrix(piece.from)) load_int8_matrix(weights_, piece.from, values);
    else weights_.load(piece.from.name, values);
    if (merger_ != nullptr)
      merger_->add_to(piece.from.name,
                      {values.as<float>(), static_cast<std::size_t>(values.shape().elements())});
    return values;
  }
  void write_int8(const Piece& piece, std::span<const float> x) {
    const auto columns = static_cast<std::size_t>(piece.from.shape[1]);
    std::vector<std::int8_t> numbers(x.size());
    std::vector<float> scales;
    for (std::size_t first = 0; first < x.size(); first += columns) {
      const std::span<const float> row = x.subspan(first, columns);
      for (const float value : row)
        if (!std::isfinite(value)) refuse(piece, value, "cannot be represented in 8 bits");
      const std::span<std::int8_t> to = std::span(numbers).subspan(first, columns);
      scales.push_back(to_int8(row, to));
      if (!piece.scales)
        for (std::size_t i = 0; i < columns; ++i) compare(row[i], static_cast<float>(to[i]) * scales.back());
    }
    if (piece.scales) writer_.write(std::as_bytes(std::span(scales)));
    else writer_.write(std::as_bytes(std::span(numbers)));
  }
  void compare(float before, float after) {
    if (!std::isfinite(before)) return;
    const double d = static_cast<double>(before) - static_cast<double>(after);
    difference_ += d * d;
    norm_ += static_cast<double>(before) * static_cast<double>(before);
  }
  [[noreturn]] void refuse(const Piece& piece, float value, const std::string& why) const {
    throw Error(ErrorKind::numeric, "convert.range",
                fmt::format("{}: tensor \"{}\" holds {}, which {}\nbf16 has the range of f32.",
                            escaped(weights_.name()), escaped(piece.from.name, 80), value, why));
  }

  const WeightSource& weights_;
  const AdapterMerge* merger_;
  io::FolderWriter& writer_;
  double difference_ = 0, norm_ = 0;
};

// The parent folder of `to`, and its name in it.
struct Target {
  std::string parent, name;
  Target(const std::string& from, const std::string& to, bool replace) {
    fs::path path = fs::path(to).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    parent = path.has_parent_path() ? path.parent_path().string() : ".";
    name = path.filename().string();
    std::error_code ignored;
    if (name.empty() || name == "." || name == "..")
      throw Error(ErrorKind::usage, "convert.folder",
                  fmt::format("\"{}\" is not the name of a new folder", escaped(to)));
    if (fs::equivalent(from, to, ignored))
      throw Error(
          ErrorKind::usage, "convert.folder",
          fmt::format("{}: is the folder of the model; choose another one for the result", escaped(to)));
    if (!replace && fs::exists(fs::symlink_status(path, ignored)))
      throw Error(ErrorKind::file, "convert.folder", fmt::format("{}: exists already", escaped(to)));
    fs::create_directories(parent);
  }
};

void copy_companions(const std::string& from, io::FolderWriter& writer, Converted& report) {
  for (const std::string_view name : kCompanions) {
    const fs::path path = fs::path(from) / name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    const std::vector<std::byte> bytes = io::read_file(path.string(), kMostBytes);
    writer.begin(std::string(name));
    writer.write(bytes);
    writer.end();
    report.copied.emplace_back(name);
  }
}

struct Writing {
  const WeightSource& weights;
  const AdapterMerge* merger;
  const Plan& plan;
};

// Written last: its presence makes the folder complete.
void write_parameters(const Writing& w, io::FolderWriter& writer, Converted& report) {
  writer.begin("model.safetensors");
  const std::string header = w.plan.header();
  writer.write(header);
  report.bytes_after = static_cast<std::int64_t>(header.size() + w.plan.bytes());
  Converter converter(w.weights, w.merger, writer);
  for (const Piece& piece : w.plan.pieces()) converter.write(piece);
  writer.end();
  report.relative_error = converter.relative_error();
  writer.commit();
}

}  // namespace

std::string_view name_of(StoredAs type) noexcept {
  switch (type) {
    case StoredAs::f16: return "f16";
    case StoredAs::bf16: return "bf16";
    case StoredAs::int8: return "int8";
    case StoredAs::f32: break;
  }
  return "f32";
}

Converted convert_folder(const std::string& from, const std::string& to, const ConvertOptions& options) {
  Converted report;
  const SafetensorsWeights weights{io::Folder(from)};
  for (const io::Safetensors& file : weights.files())
    report.bytes_before += static_cast<std::int64_t>(fs::file_size(file.name()));
  const Target target(from, to, options.replace);
  const Plan plan(weights, options.type, report);
  std::optional<AdapterMerge> merger;
  if (!options.adapter.empty()) {
    merger.emplace(options.adapter, weights);
    report.merged = merger->matrices();
  }
  io::FolderWriter writer(target.parent, target.name);
  copy_companions(from, writer, report);
  write_parameters({weights, merger ? &*merger : nullptr, plan}, writer, report);
  return report;
}

Converted convert_to_folder(const std::string& from, const std::string& to, const ConvertOptions& options) {
  if (!options.adapter.empty())
    throw Error(ErrorKind::usage, "convert.adapter",
                "--adapter: an adapter can be merged into a folder only, and this model is a .gguf file");
  Converted report;
  const ModelFiles files(from);
  const GgufFolder weights(files);
  report.notices = weights.notices();
  report.bytes_before = static_cast<std::int64_t>(fs::file_size(from));
  const Target target(from, to, options.replace);
  const Plan plan(weights, options.type, report);
  io::FolderWriter writer(target.parent, target.name);
  for (const auto& [name, text] : weights.texts()) {
    writer.begin(name);
    writer.write(text);
    writer.end();
    report.copied.push_back(name);
  }
  write_parameters({weights, nullptr, plan}, writer, report);
  return report;
}

}  // namespace headlight::models
