// Checks of one view, shared by all entry points: sizes, pointers, strides, overlap. The successful path is
// inline and allocates nothing; code that builds messages is cold and out of line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attention/problem.h"

// Messages are built out of line, so that a valid call pays for comparisons only.
#define HEADLIGHT_COLD [[noreturn, gnu::cold, gnu::noinline]]

namespace headlight {

// Function and argument, the start of every message: "attention: k".
struct Argument {
  const char* who;
  const char* name;
};

// Larger extents cannot be memory; the sum of two of them still fits an Index.
inline constexpr Index kMostElements = Index{1} << 59;
inline constexpr Index kMostBytes = Index{1} << 57;

HEADLIGHT_COLD void refuse(ErrorKind kind, const char* code, const std::string& message);
HEADLIGHT_COLD void refuse_size(Argument argument, const ConstTensorView& view);
HEADLIGHT_COLD void refuse_pointer(Argument argument, const ConstTensorView& view);
HEADLIGHT_COLD void refuse_last_stride(Argument argument, const ConstTensorView& view);

// checked_bytes() for views whose products might overflow.
[[nodiscard, gnu::noinline]] ByteSpan checked_big_bytes(Argument argument, const ConstTensorView& view);

// No negative or overflowing size, no null pointer to elements, every element aligned to its size.
// Strides may be zero or negative.
[[nodiscard, gnu::always_inline]] inline ByteSpan checked_bytes(Argument argument,
                                                                const ConstTensorView& view) {
  const Index item = static_cast<Index>(size_of(view.dtype()));
  Index sizes = 0, strides = 0, high = 0;
  bool none = false;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const Index n = view.dim(axis), stride = view.stride(axis);
    none |= n == 0;
    sizes |= n;
    strides |= stride;
    // Unsigned: whatever wraps here is found below, before it is used.
    high = static_cast<Index>(static_cast<std::uint64_t>(high) +
                              static_cast<std::uint64_t>(n - 1) * static_cast<std::uint64_t>(stride));
  }
  // Four sizes below 2^14 and positive strides below 2^38 cannot overflow anything.
  if (sizes < 0 || sizes >= (Index{1} << 14) || strides < 0 || strides >= (Index{1} << 38)) {
    return checked_big_bytes(argument, view);
  }
  if (none) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(view.data());
  if (address == 0 || (address & static_cast<std::uintptr_t>(item - 1)) != 0) refuse_pointer(argument, view);
  const ByteSpan bytes{address, address + static_cast<std::uintptr_t>((high + 1) * item)};
  if (bytes.end < address) refuse_size(argument, view);
  return bytes;
}

inline void check_last_stride(Argument argument, const ConstTensorView& view) {
  const int last = view.rank() - 1;
  if (view.stride(last) != 1 && view.dim(last) > 1) refuse_last_stride(argument, view);
}

// No element at two addresses: writing the view writes each element once. Also rejects axes that interleave in
// ways that no memory layout needs.
[[nodiscard]] bool writes_once_in_any_order(const ConstTensorView& view);
[[nodiscard]] inline bool writes_once(const ConstTensorView& view) {
  Index reach = 0;  // of the axes after this one: enough to see that row-major views are good
  for (int axis = view.rank() - 1; axis >= 0; --axis) {
    if (view.dim(axis) <= 1) continue;
    if (view.stride(axis) <= reach) return writes_once_in_any_order(view);
    reach += (view.dim(axis) - 1) * view.stride(axis);
  }
  return true;
}
// Exact for the layouts in use: packed projections such as [batch, token, 3, head, dim] whose byte
// ranges overlap although no element is shared. Returns true when in doubt.
[[nodiscard]] bool may_share(const ConstTensorView& a, const ConstTensorView& b);

// "1,2,3,4,6,12", cut short after sixteen.
[[nodiscard]] std::string divisors(Index n);
// "f32 [2, 12, 128, 64]"
[[nodiscard]] std::string described(const ConstTensorView& view);

// f64 for f64, f32 for all others: the type of statistics and weights.
[[nodiscard]] inline DType accumulation_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace headlight
