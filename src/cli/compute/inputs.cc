#include "cli/compute/inputs.h"

#include <array>
#include <span>
#include <utility>

#include "core/concat.h"
#include "core/escape.h"
#include "io/npy.h"

namespace headlight::cli {
namespace {

[[noreturn]] void refuse(const std::string& file, const char* code, const std::string& what) {
  throw Error(ErrorKind::input, code, concat(escaped(file), ": ", what));
}

// Adds missing leading axes, each of length 1.
Shape with_four_axes(const Shape& shape) {
  Shape four{1, 1, 1, 1};
  for (int axis = 0; axis < shape.rank; ++axis) {
    four.dims[static_cast<std::size_t>(4 - shape.rank + axis)] = shape[axis];
  }
  return four;
}

struct Operand {
  const char* name;
  const std::string& file;
  io::NpyArray array;
};

Operand load_operand(const char* name, const std::string& file) {
  Operand operand{name, file, io::read_npy(file)};
  const Shape& shape = operand.array.shape;
  if (!is_float(operand.array.tensor.dtype())) {
    refuse(file, "compute.dtype",
           concat(name, " holds ", name_of(operand.array.tensor.dtype()),
                  "; need f16, f32 or f64 (.npy f2, f4, f8)"));
  }
  if (shape.rank < 2) {
    refuse(file, "compute.rank",
           concat(name, " is ", shape.text(),
                  "; need [batch, head, token, dim], [head, token, dim] or [token, dim]"));
  }
  return operand;
}

void check_alike(std::span<const Operand> all, bool any_dtype) {
  const Operand& q = all[0];
  for (const Operand& other : all) {
    if (other.array.shape.rank != q.array.shape.rank) {
      refuse(other.file, "compute.rank",
             concat(other.name, " is ", other.array.shape.text(), " but q is ", q.array.shape.text(),
                    "; all of them need the same number of axes"));
    }
    if (!any_dtype && other.array.tensor.dtype() != q.array.tensor.dtype()) {
      refuse(other.file, "compute.dtype",
             concat(other.name, " is ", name_of(other.array.tensor.dtype()), " but q (", escaped(q.file, 60),
                    ") is ", name_of(q.array.tensor.dtype()), "; --dtype converts all of them"));
    }
  }
}

Tensor take(Operand& operand, std::optional<DType> dtype) {
  Tensor tensor = std::move(operand.array.tensor);
  if (dtype && *dtype != tensor.dtype()) return converted(std::as_const(tensor), *dtype);
  return tensor;
}

Tensor load_optional(const std::string& file) { return file.empty() ? Tensor() : io::read_npy(file).tensor; }

// One number per query head, also from an f16 file.
Tensor load_per_head(const std::string& file) {
  Tensor tensor = load_optional(file);
  return tensor.dtype() == DType::f16 ? converted(std::as_const(tensor), DType::f64) : std::move(tensor);
}

std::vector<Index> load_lengths(const char* name, const std::string& file) {
  if (file.empty()) return {};
  const io::NpyArray array = io::read_npy(file);
  const DType dtype = array.tensor.dtype();
  if ((dtype != DType::i32 && dtype != DType::i64) || array.shape.rank > 1) {
    refuse(file, "compute.lengths",
           concat(name, " is ", name_of(dtype), " ", array.shape.text(),
                  "; need i32 or i64 [batch] (.npy i4, i8)"));
  }
  std::vector<Index> lengths;
  for (Index b = 0; b < array.tensor.dim(0); ++b) {
    lengths.push_back(dtype == DType::i64 ? array.tensor.as<std::int64_t>()[b]
                                          : array.tensor.as<std::int32_t>()[b]);
  }
  return lengths;
}

}  // namespace

Tensor converted(ConstTensorView tensor, DType dtype) {
  Tensor result(tensor.shape(), dtype);
  const Index elements = tensor.shape().elements();
  const ConstTensorView from(tensor.data(), tensor.dtype(), {elements});
  const TensorView to(result.as<std::byte>(), dtype, {elements});
  for (Index i = 0; i < elements; ++i) to.set(i, from.at(i));
  return result;
}

ComputeInputs load_inputs(const ComputeFiles& files, std::optional<DType> dtype) {
  std::vector<Operand> all;
  all.push_back(load_operand("q", files.q));
  all.push_back(load_operand("k", files.k));
  all.push_back(load_operand("v", files.v));
  if (!files.dout.empty()) all.push_back(load_operand("dout", files.dout));
  check_alike(all, dtype.has_value());
  ComputeInputs inputs;
  inputs.dropped = 4 - all[0].array.shape.rank;
  inputs.q_shape = with_four_axes(all[0].array.shape);
  inputs.k_shape = with_four_axes(all[1].array.shape);
  inputs.v_shape = with_four_axes(all[2].array.shape);
  inputs.q = take(all[0], dtype);
  inputs.k = take(all[1], dtype);
  inputs.v = take(all[2], dtype);
  if (!files.dout.empty()) {
    inputs.dout_shape = with_four_axes(all[3].array.shape);
    inputs.dout = take(all[3], dtype);
  }
  inputs.alibi = load_per_head(files.alibi);
  inputs.sinks = load_per_head(files.sinks);
  inputs.mask = load_optional(files.mask);
  inputs.bias = load_optional(files.bias);
  inputs.q_lengths = load_lengths("--q-lengths", files.q_lengths);
  inputs.k_lengths = load_lengths("--k-lengths", files.k_lengths);
  return inputs;
}

Error with_files(const Error& error, const ComputeFiles& files, const ComputeInputs& inputs) {
  if (error.kind() != ErrorKind::input) return error;
  const std::string message = error.what();
  const std::array<std::pair<std::string_view, const std::string*>, 10> names = {
      {{"q", &files.q},
       {"k", &files.k},
       {"v", &files.v},
       {"alibi_slopes", &files.alibi},
       {"mask", &files.mask},
       {"bias", &files.bias},
       {"sinks", &files.sinks},
       {"q_lengths", &files.q_lengths},
       {"k_lengths", &files.k_lengths},
       {"dout", &files.dout}}};
  std::string file;
  const std::size_t word = message.find(": ");
  if (word != std::string::npos) {
    const std::size_t end = message.find_first_of(" [", word + 2);
    const std::string_view argument = std::string_view(message).substr(word + 2, end - word - 2);
    for (const auto& [name, path] : names) {
      if (name == argument) file = escaped(*path, 80) + ": ";
    }
  }
  return {error.kind(), error.code(),
          concat(file, message, "\n  q is ", inputs.q_shape.text(), ", k is ", inputs.k_shape.text(),
                 ", v is ", inputs.v_shape.text())};
}

}  // namespace headlight::cli
