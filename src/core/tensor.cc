#include "headlight/tensor.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/concat.h"
#include "core/float_mode.h"
#include "core/tensor_memory.h"
#include "headlight/error.h"

namespace headlight {

std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::boolean: return "bool";
  }
  return "unknown";
}

bool is_float(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

float to_float(BF16 x) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

float to_float(F16 x) noexcept {
  const std::uint32_t sign = (x.bits & 0x8000U) << 16, magnitude = x.bits & 0x7FFFU;
  if (magnitude >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13));
  const float value =
      std::ldexp(static_cast<float>((magnitude & 0x3FFU) | (magnitude >= 0x400U ? 0x400U : 0U)),
                 static_cast<int>(magnitude >> 10) - 25 + (magnitude < 0x400U ? 1 : 0));
  return sign != 0 ? -value : value;
}

namespace {

// Rounds |x| to a float with `digits` significant bits and smallest normal exponent `lowest`, then
// assembles the bits. Works on the double directly, so that there is one rounding, not two.
std::uint16_t round_to_16(double x, int digits, int lowest, std::uint16_t infinity) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000U : 0;
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | infinity | (1U << (digits - 2)));
  const DefaultFloatMode float_mode;
  const double a = std::abs(x);
  if (std::isinf(a)) return static_cast<std::uint16_t>(sign | infinity);
  if (a == 0) return sign;
  const int exponent = std::max(std::ilogb(a), lowest);
  const double units = std::nearbyint(std::ldexp(a, digits - 1 - exponent));  // to nearest even
  // `units` carries into the exponent field by itself when it reaches 2^digits.
  const auto bits =
      static_cast<std::uint64_t>(units) + (static_cast<std::uint64_t>(exponent - lowest) << (digits - 1));
  return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(bits, infinity));
}

}  // namespace

F16 to_f16(double x) noexcept { return {round_to_16(x, 11, -14, 0x7C00U)}; }
BF16 to_bf16(double x) noexcept { return {round_to_16(x, 8, -126, 0x7F80U)}; }

Shape::Shape(std::initializer_list<Index> list) : Shape(std::span<const Index>(list.begin(), list.size())) {}

Shape::Shape(std::span<const Index> list) {
  if (list.size() > static_cast<std::size_t>(kMaxRank)) {
    throw Error(ErrorKind::input, "tensor.rank",
                concat("tensor: rank ", list.size(), " is above the limit of ", kMaxRank));
  }
  for (const Index n : list) dims[static_cast<std::size_t>(rank++)] = n;
}

Index Shape::elements() const {
  Index product = 1;
  bool nothing = false;
  for (int axis = 0; axis < rank; ++axis) {
    nothing = nothing || (*this)[axis] == 0;
    if ((*this)[axis] < 0)
      throw Error(ErrorKind::input, "tensor.size", concat("tensor: negative size in ", text()));
  }
  if (nothing) return 0;
  for (int axis = 0; axis < rank; ++axis) {
    // 2^59 elements of 8 bytes are 2^62 bytes: byte sizes and strides then fit as well.
    if (__builtin_mul_overflow(product, (*this)[axis], &product) || product > (Index{1} << 59)) {
      throw Error(ErrorKind::input, "tensor.size",
                  concat("tensor: ", text(), " has more elements than memory can have"));
    }
  }
  return product;
}

std::string Shape::text() const {
  std::string out = "[";
  for (int axis = 0; axis < rank; ++axis) out += concat(axis > 0 ? ", " : "", (*this)[axis]);
  return out + "]";
}

ConstTensorView::ConstTensorView(const void* data, DType dtype, const Shape& shape)
    : data_(data), dtype_(dtype), shape_(shape) {
  strides_.rank = shape.rank;
  Index step = 1;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    strides_.dims[static_cast<std::size_t>(axis)] = step;
    // Sizes are checked where memory is touched; here a wrapped stride only must not be undefined.
    if (__builtin_mul_overflow(step, shape[axis], &step)) step = 0;
  }
}

ConstTensorView::ConstTensorView(const void* data, DType dtype, const Shape& shape, const Shape& strides)
    : data_(data), dtype_(dtype), shape_(shape), strides_(strides) {
  if (strides.rank != shape.rank) {
    throw Error(
        ErrorKind::input, "tensor.rank",
        concat("tensor: shape ", shape.text(), " with strides ", strides.text(), "; ranks must agree"));
  }
}

void ConstTensorView::refuse_index(std::initializer_list<Index> at) const {
  std::string asked;
  for (const Index i : at) asked += concat(asked.empty() ? "" : ", ", i);
  throw Error(ErrorKind::usage, "tensor.index",
              concat("tensor: no element (", asked, ") in a tensor of shape ", shape_.text()));
}

double ConstTensorView::load(Index i) const {
  switch (dtype_) {
    case DType::f32: return as<float>()[i];
    case DType::f64: return as<double>()[i];
    case DType::f16: return to_float(as<F16>()[i]);
    case DType::bf16: return to_float(as<BF16>()[i]);
    case DType::i32: return as<std::int32_t>()[i];
    case DType::i64: return static_cast<double>(as<std::int64_t>()[i]);
    case DType::boolean: return as<std::uint8_t>()[i] != 0 ? 1 : 0;
  }
  return 0;
}

namespace {

// The nearest integer, even at a tie; the closest there is when x is out of range, 0 for NaN.
template <class Integer>
Integer nearest(double x) {
  constexpr double kEnd = -static_cast<double>(std::numeric_limits<Integer>::min());  // one past the largest
  const double whole = std::nearbyint(x);
  if (whole >= kEnd) return std::numeric_limits<Integer>::max();
  if (whole < -kEnd) return std::numeric_limits<Integer>::min();
  return std::isnan(whole) ? Integer{0} : static_cast<Integer>(whole);
}

}  // namespace

void TensorView::store(Index i, double x) const {
  const DefaultFloatMode float_mode;
  switch (dtype_) {
    case DType::f32: as<float>()[i] = static_cast<float>(x); break;
    case DType::f64: as<double>()[i] = x; break;
    case DType::f16: as<F16>()[i] = to_f16(x); break;
    case DType::bf16: as<BF16>()[i] = to_bf16(x); break;
    case DType::i32: as<std::int32_t>()[i] = nearest<std::int32_t>(x); break;
    case DType::i64: as<std::int64_t>()[i] = nearest<std::int64_t>(x); break;
    case DType::boolean: as<std::uint8_t>()[i] = x != 0 ? 1 : 0; break;
  }
}

void Tensor::Free::operator()(std::byte* p) const noexcept { give_memory(p, bytes); }

Tensor Tensor::uninitialized(const Shape& shape, DType dtype) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size_of(dtype);
  std::size_t room = (bytes + 63) / 64 * 64;
  if (room == 0) return tensor;
  std::byte* const memory = take_memory(room);
  tensor.data_ = {memory, Free{room}};
  if (!tensor.data_) {
    throw Error(ErrorKind::resource, "tensor.memory",
                concat("tensor: no memory for ", name_of(dtype), " ", shape.text(), " (", bytes, " bytes)"));
  }
  return tensor;
}

Tensor::Tensor(const Shape& shape, DType dtype) {
  *this = uninitialized(shape, dtype);
  if (data_ && !UntouchedTensors::wanted()) std::memset(data_.get(), 0, data_.get_deleter().bytes);
}

Tensor Tensor::from(std::span<const double> values, const Shape& shape, DType dtype) {
  if (static_cast<Index>(values.size()) != shape.elements()) {
    throw Error(ErrorKind::input, "tensor.size",
                concat("tensor: ", values.size(), " values for shape ", shape.text(), ", which needs ",
                       shape.elements()));
  }
  Tensor tensor(shape, dtype);
  const TensorView flat(tensor.data_.get(), dtype, {shape.elements()});
  for (std::size_t i = 0; i < values.size(); ++i) flat.set(static_cast<Index>(i), values[i]);
  return tensor;
}

Tensor Tensor::clone() const {
  Tensor copy;
  if (empty()) return copy;
  copy = uninitialized(shape_, dtype_);
  if (data_)
    std::memcpy(copy.data_.get(), data_.get(), static_cast<std::size_t>(shape_.elements()) * size_of(dtype_));
  return copy;
}

TensorView Tensor::view() { return empty() ? TensorView() : TensorView(data_.get(), dtype_, shape_); }
ConstTensorView Tensor::view() const {
  return empty() ? ConstTensorView() : ConstTensorView(data_.get(), dtype_, shape_);
}

}  // namespace headlight
