// A tensor and two kinds of views. Axis order is always [batch, head, token, dim]; the memory layout is
// given by strides, counted in elements. Functions take views by value and do not keep them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace headlight {

using Index = std::int64_t;

enum class DType : std::uint8_t { f32, f64, f16, bf16, i32, i64, boolean };

[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::boolean: return 1;
  }
  return 0;
}
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;  // "f32"
[[nodiscard]] bool is_float(DType dtype) noexcept;

// 16-bit floats are stored as bits; conversions round to nearest even and keep NaN.
struct F16 {
  std::uint16_t bits = 0;
};
struct BF16 {
  std::uint16_t bits = 0;
};
[[nodiscard]] float to_float(F16 x) noexcept;
[[nodiscard]] float to_float(BF16 x) noexcept;
[[nodiscard]] F16 to_f16(double x) noexcept;
[[nodiscard]] BF16 to_bf16(double x) noexcept;

inline constexpr int kMaxRank = 4;

struct Shape {
  std::array<Index, kMaxRank> dims{};
  int rank = 0;

  Shape() = default;
  Shape(std::initializer_list<Index> list);
  explicit Shape(std::span<const Index> list);
  [[nodiscard]] Index operator[](int axis) const { return dims[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] Index elements() const;    // throws Error when the product does not fit
  [[nodiscard]] std::string text() const;  // "[2, 12, 128, 64]"
  bool operator==(const Shape&) const = default;
};

class ConstTensorView {
 public:
  ConstTensorView() = default;
  ConstTensorView(const void* data, DType dtype, const Shape& shape);  // contiguous
  ConstTensorView(const void* data, DType dtype, const Shape& shape, const Shape& strides);
  ConstTensorView(const float* data, const Shape& shape) : ConstTensorView(data, DType::f32, shape) {}
  ConstTensorView(const double* data, const Shape& shape) : ConstTensorView(data, DType::f64, shape) {}
  ConstTensorView(const F16* data, const Shape& shape) : ConstTensorView(data, DType::f16, shape) {}
  ConstTensorView(const BF16* data, const Shape& shape) : ConstTensorView(data, DType::bf16, shape) {}

  // An empty view means "not given". A tensor with an axis of length 0 is given, and has no elements.
  [[nodiscard]] bool empty() const noexcept { return shape_.rank == 0; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] int rank() const noexcept { return shape_.rank; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] Index dim(int axis) const { return shape_[axis]; }
  [[nodiscard]] Index stride(int axis) const { return strides_[axis]; }
  [[nodiscard]] const void* data() const noexcept { return data_; }
  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return static_cast<const T*>(data_);
  }

  // One element as double, for any dtype; for tests, printing and the reference. Needs one index per axis; one
  // out of range is Error{usage}.
  template <std::integral... At>
  [[nodiscard]] double at(At... at) const {
    return load(offset({static_cast<Index>(at)...}));
  }

 protected:
  [[nodiscard]] double load(Index offset) const;
  [[nodiscard]] Index offset(std::initializer_list<Index> at) const {
    Index sum = 0;
    int axis = 0;
    bool inside = static_cast<int>(at.size()) == shape_.rank;
    for (const Index i : at) {
      if (axis == shape_.rank) break;
      inside = inside && i >= 0 && i < shape_[axis];
      sum += i * strides_[axis++];
    }
    if (!inside) refuse_index(at);
    return sum;
  }
  [[noreturn]] void refuse_index(std::initializer_list<Index> at) const;

  const void* data_ = nullptr;
  DType dtype_ = DType::f32;
  Shape shape_, strides_;
};

class TensorView : public ConstTensorView {
 public:
  TensorView() = default;
  TensorView(void* data, DType dtype, const Shape& shape) : ConstTensorView(data, dtype, shape) {}
  TensorView(void* data, DType dtype, const Shape& shape, const Shape& strides)
      : ConstTensorView(data, dtype, shape, strides) {}
  TensorView(float* data, const Shape& shape) : ConstTensorView(data, shape) {}
  TensorView(double* data, const Shape& shape) : ConstTensorView(data, shape) {}
  TensorView(F16* data, const Shape& shape) : ConstTensorView(data, shape) {}
  TensorView(BF16* data, const Shape& shape) : ConstTensorView(data, shape) {}

  [[nodiscard]] void* data() const noexcept { return const_cast<void*>(data_); }
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data());
  }

  // Rounds once, to nearest even, to the view's dtype.
  void set(Index a, double x) const { store(offset({a}), x); }
  void set(Index a, Index b, double x) const { store(offset({a, b}), x); }
  void set(Index a, Index b, Index c, double x) const { store(offset({a, b, c}), x); }
  void set(Index a, Index b, Index c, Index d, double x) const { store(offset({a, b, c, d}), x); }

 private:
  void store(Index offset, double x) const;
};

// Owns 64-byte aligned, contiguous, zeroed memory. Move-only; clone() copies explicitly.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const Shape& shape, DType dtype = DType::f32);
  // Uninitialised: write every element before reading it.
  [[nodiscard]] static Tensor uninitialized(const Shape& shape, DType dtype = DType::f32);
  [[nodiscard]] static Tensor from(std::span<const double> values, const Shape& shape,
                                   DType dtype = DType::f32);

  [[nodiscard]] bool empty() const noexcept { return shape_.rank == 0; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] int rank() const noexcept { return shape_.rank; }
  [[nodiscard]] Index dim(int axis) const { return shape_[axis]; }
  [[nodiscard]] Tensor clone() const;
  [[nodiscard]] TensorView view();
  [[nodiscard]] ConstTensorView view() const;
  operator ConstTensorView() const { return view(); }  // NOLINT: reading a tensor needs no ceremony
  operator ConstTensorView() { return view(); }        // NOLINT: exact, so that -Wconversion stays silent
  operator TensorView() { return view(); }             // NOLINT
  template <class T>
  [[nodiscard]] T* as() noexcept {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return reinterpret_cast<const T*>(data_.get());
  }
  template <class... At>
  [[nodiscard]] double at(At... at) const {
    return view().at(at...);
  }

 private:
  struct Free {
    std::size_t bytes;
    void operator()(std::byte* p) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
  DType dtype_ = DType::f32;
  Shape shape_;
};

// Views stored in structs: options, saved tensors of a forward pass, outputs. They accept views and named
// tensors. A temporary tensor does not compile, because its memory would be freed before the struct is used.
class ConstTensorRef : public ConstTensorView {
 public:
  using ConstTensorView::ConstTensorView;
  ConstTensorRef() = default;
  ConstTensorRef(const ConstTensorView& view) : ConstTensorView(view) {}    // NOLINT: as a view
  ConstTensorRef(const Tensor& tensor) : ConstTensorView(tensor.view()) {}  // NOLINT
  ConstTensorRef(const Tensor&& temporary) = delete;
};
class TensorRef : public TensorView {
 public:
  using TensorView::TensorView;
  TensorRef() = default;
  TensorRef(const TensorView& view) : TensorView(view) {}   // NOLINT: as a view
  TensorRef(Tensor& tensor) : TensorView(tensor.view()) {}  // NOLINT
  TensorRef(Tensor&& temporary) = delete;
};

// While one exists, tensors freed by this thread are kept and reused by size: a loop that creates
// the same tensors in every iteration allocates memory only in the first one.
class TensorRecycler {
 public:
  TensorRecycler();
  ~TensorRecycler();  // frees all kept memory
  TensorRecycler(const TensorRecycler&) = delete;
  TensorRecycler& operator=(const TensorRecycler&) = delete;
  [[nodiscard]] static std::size_t allocations() noexcept;  // by this thread, from the system, so far

  struct [[gnu::visibility("hidden")]] FreeLists;  // src/core/tensor_memory.cc

 private:
  FreeLists* outer_;
  std::unique_ptr<FreeLists> lists_;
};

}  // namespace headlight

#pragma GCC visibility pop
