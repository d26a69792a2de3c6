#include "models/convert_gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/escape.h"
#include "core/run_tasks.h"
#include "headlight/error.h"
#include "io/gguf.h"
#include "io/gguf_write.h"
#include "io/outputs.h"

namespace headlight::models {
namespace {

constexpr Index kLeastRows = 16;   // smaller matrices are tables of positions or segments: nothing to gain
constexpr Index kRowsOfTask = 32;  // that a thread rounds at a time
constexpr Index kMostAtOnce = 1 << 23;  // elements in memory as floats

const io::BlockType& file_type(StoredType type) {
  std::string name(name_of(type));
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return *io::find_block_type(name);
}

struct Piece {
  const io::GgufTensor* from = nullptr;
  io::GgufEntry to;
  StoredType type = StoredType::f32;
  bool copied = true;
  [[nodiscard]] Index columns() const { return to.shape[to.shape.rank - 1]; }
};

// The type of a matrix's rows: the requested one, if they are whole blocks of it.
StoredType fitting(StoredType wanted, Index columns) {
  for (const StoredType type : {wanted, StoredType::q8_0})
    if (columns % block_columns(type) == 0) return type;
  return StoredType::f16;
}

Piece plan(const io::GgufTensor& tensor, StoredType wanted) {
  Piece piece{&tensor, {std::string(tensor.name), tensor.type, tensor.shape, tensor.bytes}};
  const int rank = tensor.shape.rank;
  if (rank < 2 || !tensor.type->loads() || tensor.shape[rank - 2] < kLeastRows) return piece;
  piece.type = fitting(wanted, piece.columns());
  const io::BlockType& type = file_type(piece.type);
  if (&type == tensor.type) return piece;
  piece.copied = false;
  piece.to.type = &type;
  piece.to.bytes = tensor.elements / type.elements * type.bytes;
  return piece;
}

class Converter {
 public:
  Converter(Context& ctx, const io::Gguf& file, io::Outputs& outputs, const std::string& path)
      : ctx_(ctx), file_(file), outputs_(outputs), path_(path) {}

  void copy(const io::GgufTensor& tensor) { outputs_.write(path_, file_.bytes(tensor)); }

  [[nodiscard]] ConvertedMatrix round(const Piece& piece) {
    const Index columns = piece.columns(), rows = piece.to.shape.elements() / columns;
    const Index at_once = std::clamp<Index>(kMostAtOnce / columns, 1, rows);
    difference_ = norm_ = 0;
    for (Index first = 0; first < rows; first += at_once)
      some_rows(piece, first, std::min(at_once, rows - first));
    return {piece.to.name, std::string(piece.from->type->name), std::string(piece.to.type->name),
            norm_ > 0 ? std::sqrt(difference_ / norm_) : 0};
  }

 private:
  void some_rows(const Piece& piece, Index first, Index rows) {
    const Index columns = piece.columns(), step = row_bytes(piece.type, columns);
    // Reads whole blocks; rows consist of whole blocks.
    Tensor values = Tensor::uninitialized({rows, columns});
    file_.load(*piece.from, static_cast<std::uint64_t>(first * columns),
               {values.as<float>(), static_cast<std::size_t>(rows * columns)});
    for (Index i = 0; i < rows * columns; ++i)
      if (!std::isfinite(values.as<float>()[i]))
        throw Error(
            ErrorKind::numeric, "convert.range",
            fmt::format("{}: tensor \"{}\" holds {}, which is out of range for {}", escaped(file_.name()),
                        escaped(piece.to.name, 80), values.as<float>()[i], piece.to.type->name));
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows * step));
    struct Sums {
      double difference = 0, norm = 0;
    };
    const Index tasks = (rows + kRowsOfTask - 1) / kRowsOfTask;
    std::vector<Sums> sums(static_cast<std::size_t>(tasks));
    run_tasks(ctx_, tasks, ctx_.threads(), [&](int, Index task) {
      const Index begin = task * kRowsOfTask, n = std::min(kRowsOfTask, rows - begin);
      const ConstTensorView part(values.as<float>() + begin * columns, {n, columns});
      const StoredMatrix stored = StoredMatrix::from(part, piece.type);
      std::memcpy(bytes.data() + begin * step, stored.data(), static_cast<std::size_t>(n * step));
      std::vector<float> back(static_cast<std::size_t>(n * columns));
      io::dequantize(*piece.to.type, {stored.data(), static_cast<std::size_t>(n * step)}, back.data());
      Sums& sum = sums[static_cast<std::size_t>(task)];
      for (std::size_t i = 0; i < back.size(); ++i) {
        const double x = static_cast<double>(part.as<float>()[i]), d = x - static_cast<double>(back[i]);
        sum.difference += d * d, sum.norm += x * x;
      }
    });
    for (const Sums& sum : sums) difference_ += sum.difference, norm_ += sum.norm;
    outputs_.write(path_, bytes);
  }

  Context& ctx_;
  const io::Gguf& file_;
  io::Outputs& outputs_;
  const std::string& path_;
  double difference_ = 0, norm_ = 0;
};

// All named values, except those that say where the tensors of a split model are and which type most tensors had.
std::vector<io::GgufValue> kept_values(const io::Gguf& file) {
  std::vector<io::GgufValue> values;
  for (const io::GgufValue& value : file.values())
    if (!value.key.starts_with("split.") && value.key != "general.file_type") values.push_back(value);
  return values;
}

}  // namespace

ConvertedGguf convert_gguf(Context& ctx, const std::string& from, const GgufTarget& to) {
  const io::Gguf file = io::Gguf::open(from);
  if (to.type == StoredType::int8)
    throw Error(ErrorKind::usage, "convert.type",
                ".gguf files have no int8; choose f32, f16, bf16, q8_0, q6_k or q4_k");
  ConvertedGguf report;
  std::vector<Piece> pieces;
  std::vector<io::GgufEntry> entries;
  for (const io::GgufTensor& tensor : file.tensors()) {
    pieces.push_back(plan(tensor, to.type));
    entries.push_back(pieces.back().to);
    report.bytes_before += static_cast<std::int64_t>(tensor.bytes);
    report.bytes_after += static_cast<std::int64_t>(entries.back().bytes);
  }
  report.tensors = static_cast<std::int64_t>(pieces.size());
  io::Outputs outputs(to.replace ? io::Existing::replace : io::Existing::refuse);
  outputs.reserve(to.path);
  const std::string header = io::gguf_header(kept_values(file), entries, file.alignment());
  outputs.write(to.path, std::as_bytes(std::span(header)));
  Converter converter(ctx, file, outputs, to.path);
  for (const Piece& piece : pieces) {
    if (piece.copied) converter.copy(*piece.from);
    else report.matrices.push_back(converter.round(piece));
    const std::string padding(static_cast<std::size_t>(io::gguf_padding(piece.to.bytes, file.alignment())),
                              '\0');
    outputs.write(to.path, std::as_bytes(std::span(padding)));
  }
  outputs.commit();
  return report;
}

}  // namespace headlight::models
