#include "models/random_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/escape.h"
#include "headlight/error.h"
#include "io/folder_writer.h"
#include "io/safetensors.h"
#include "models/int8_rows.h"
#include "models/numbers.h"

namespace headlight::models {
namespace {

struct KnownShape {
  std::string_view name;
  Sizes sizes;
  Index kv_heads, inner;
};
constexpr KnownShape kShapes[] = {
    {"llama-1b", {.vocabulary = 32000, .width = 2048, .layers = 16, .heads = 32, .context = 2048}, 8, 8192},
    {"llama-8b", {.vocabulary = 128256, .width = 4096, .layers = 32, .heads = 32, .context = 8192}, 8, 14336},
    {"llama-70b",
     {.vocabulary = 128256, .width = 8192, .layers = 80, .heads = 64, .context = 8192},
     8,
     28672},
    {"gpt2-small", {.vocabulary = 50257, .width = 768, .layers = 12, .heads = 12, .context = 1024}, 12, 3072},
    {"tiny", {.vocabulary = 96, .width = 64, .layers = 2, .heads = 4, .context = 128}, 2, 160},
};

// A billion random numbers take a minute, and their values do not matter: repeat some rows.
constexpr Index kPatternRows = 64;

Tensor pattern(Index rows, Index columns, std::size_t place, double size) {
  Tensor values = Tensor::uninitialized({std::min(rows, kPatternRows), columns});
  InitialNumbers(1, place).fill(values, InitialNumbers::Shape::uniform, size);
  return values;
}

struct Repeated {
  Tensor bytes, scales;
};

StoredMatrix repeated(const StoredMatrix& some, Index rows) {
  const Index step = row_bytes(some.type(), some.columns());
  const auto owner = std::make_shared<Repeated>();
  owner->bytes = Tensor::uninitialized({(rows * step + 3) / 4});
  owner->scales = Tensor::uninitialized({some.type() == StoredType::int8 ? rows : 0});
  for (Index r = 0; r < rows; r += some.rows()) {
    const Index n = std::min(some.rows(), rows - r);
    std::memcpy(owner->bytes.as<std::byte>() + r * step, some.data(), static_cast<std::size_t>(n * step));
    if (some.scales() != nullptr) std::copy_n(some.scales(), n, owner->scales.as<float>() + r);
  }
  return {some.type(),
          rows,
          some.columns(),
          {{owner->bytes.as<std::byte>(), static_cast<std::size_t>(rows * step)},
           {owner->scales.as<float>(), static_cast<std::size_t>(owner->scales.dim(0))},
           owner}};
}

// Norms are 1, biases 0, matrices uniform with the usual deviation.
void fill(Transformer& model, StoredType type) {
  const Parameters list = model.parameters();
  for (std::size_t p = 0; p < list.size(); ++p) {
    Parameter& parameter = *list[p];
    if (!parameter.stored.empty()) {
      const Index rows = parameter.stored.rows(), columns = parameter.stored.columns();
      parameter.stored = repeated(StoredMatrix::from(pattern(rows, columns, p, 0.035), type), rows);
    } else {
      const float value = parameter.name.ends_with(".weight") ? 1 : 0;
      std::fill_n(parameter.value.as<float>(), parameter.value.shape().elements(), value);
    }
  }
}

std::string_view file_type(StoredType type) {
  switch (type) {
    case StoredType::f16: return "F16";
    case StoredType::bf16: return "BF16";
    case StoredType::int8: return "I8";
    default: return "F32";
  }
}

}  // namespace

TransformerConfig known_shape(std::string_view name) {
  std::string names;
  for (const KnownShape& shape : kShapes) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", shape.name);
    if (shape.name != name) continue;
    TransformerConfig config = llama_config(shape.sizes);
    each_layer(config, [&](nn::BlockConfig& block) {
      block.attention.kv_heads = shape.kv_heads;
      block.feed_forward.inner = shape.inner;
    });
    return completed(config);
  }
  throw Error(ErrorKind::usage, "model.shape",
              fmt::format("no shape is called \"{}\"; choose one of {}", escaped(name, 40), names));
}

std::unique_ptr<Transformer> random_model(TransformerConfig config, StoredType type) {
  config.weights = nn::Weights::stored;
  auto model = std::make_unique<Transformer>(config);
  fill(*model, type);
  return model;
}

std::int64_t write_random_model(const std::string& folder, const TransformerConfig& config, StoredType type) {
  if (block_columns(type) > 1)
    throw Error(ErrorKind::usage, "model.shape",
                fmt::format("{} is for .gguf files; choose f32, f16, bf16 or int8", name_of(type)));
  const std::unique_ptr<Transformer> model = random_model(config, type);
  struct Piece {
    io::SafetensorsEntry entry;
    std::span<const std::byte> bytes;
  };
  std::vector<Piece> pieces;
  const auto add = [&](const std::string& name, std::string_view dtype, const Shape& shape,
                       std::span<const std::byte> bytes) {
    const std::uint64_t begin = pieces.empty() ? 0 : pieces.back().entry.end;
    pieces.push_back({{name,
                       std::string(dtype),
                       {shape.dims.begin(), shape.dims.begin() + shape.rank},
                       begin,
                       begin + bytes.size()},
                      bytes});
  };
  // Vectors first: their sizes are multiples of four bytes, and what follows stays aligned.
  for (const Parameter* parameter : model->parameters()) {
    const StoredMatrix& m = parameter->stored;
    const auto floats = [](const float* data, Index n) {
      return std::as_bytes(std::span(data, static_cast<std::size_t>(n)));
    };
    if (m.empty())
      add(model->file_name(*parameter), "F32", parameter->value.shape(),
          floats(parameter->value.as<float>(), parameter->value.shape().elements()));
    else if (type == StoredType::int8)
      add(scale_name(model->file_name(*parameter)), "F32", {m.rows()}, floats(m.scales(), m.rows()));
  }
  for (const Parameter* parameter : model->parameters()) {
    const StoredMatrix& m = parameter->stored;
    if (m.empty()) continue;
    add(model->file_name(*parameter), file_type(type), m.shape(),
        {m.data(), static_cast<std::size_t>(m.rows() * row_bytes(type, m.columns()))});
  }
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  std::filesystem::create_directories(parent);
  io::FolderWriter writer(parent, path.filename().string());
  writer.begin("config.json");
  writer.write(model->config_json());
  writer.end();
  writer.begin("model.safetensors");
  std::vector<io::SafetensorsEntry> entries;
  entries.reserve(pieces.size());
  for (const Piece& piece : pieces) entries.push_back(piece.entry);
  writer.write(io::safetensors_header(entries, {{"format", "pt"}}));
  for (const Piece& piece : pieces) writer.write(piece.bytes);
  writer.end();
  writer.commit();
  return static_cast<std::int64_t>(pieces.back().entry.end);
}

}  // namespace headlight::models
