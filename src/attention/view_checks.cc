#include "attention/view_checks.h"

#include <array>
#include <numeric>

#include "core/concat.h"

namespace headlight {

void refuse(ErrorKind kind, const char* code, const std::string& message) {
  throw Error(kind, code, message);
}

void refuse_size(Argument argument, const ConstTensorView& view) {
  Shape strides = view.shape();
  for (int axis = 0; axis < view.rank(); ++axis)
    strides.dims[static_cast<std::size_t>(axis)] = view.stride(axis);
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.dim(axis) < 0) {
      refuse(ErrorKind::input, "attention.size",
             concat(argument.who, ": ", argument.name, " has the negative size ", view.dim(axis), " on axis ",
                    axis, " of ", view.shape().text(), "; need sizes of 0 or more"));
    }
  }
  refuse(ErrorKind::input, "attention.size",
         concat(argument.who, ": ", argument.name, " is ", described(view), " with strides ", strides.text(),
                ", which is too large; need at most 2^57 bytes from first to last element"));
}

void refuse_pointer(Argument argument, const ConstTensorView& view) {
  if (view.data() == nullptr) {
    refuse(ErrorKind::input, "attention.null",
           concat(argument.who, ": ", argument.name, " is ", described(view),
                  " at a null pointer; need memory for its elements (null is fine for a size of 0)"));
  }
  const std::size_t item = size_of(view.dtype());
  refuse(ErrorKind::input, "attention.alignment",
         concat(argument.who, ": ", argument.name, " starts ",
                reinterpret_cast<std::uintptr_t>(view.data()) % item, " bytes past a multiple of ", item,
                "; need ", name_of(view.dtype()), " elements aligned to ", item, " bytes"));
}

void refuse_last_stride(Argument argument, const ConstTensorView& view) {
  const int last = view.rank() - 1;
  refuse(ErrorKind::input, "attention.stride",
         concat(argument.who, ": ", argument.name, " has stride ", view.stride(last), " on its last axis of ",
                view.shape().text(), "; need 1 (a contiguous last axis), any stride on the others"));
}

ByteSpan checked_big_bytes(Argument argument, const ConstTensorView& view) {
  const Index item = static_cast<Index>(size_of(view.dtype()));
  Index elements = 1, low = 0, high = 0;
  bool none = false, too_big = false;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const Index n = view.dim(axis);
    if (n < 0) refuse_size(argument, view);
    none |= n == 0;
    Index reach = 0;
    too_big |= __builtin_mul_overflow(elements, n, &elements) || elements > kMostElements;
    too_big |= __builtin_mul_overflow(n - 1, view.stride(axis), &reach);
    Index& end = reach < 0 ? low : high;
    too_big |= __builtin_add_overflow(end, reach, &end);
  }
  if (none) return {0, 0};
  too_big |= high > kMostBytes / 8 || low < -kMostBytes / 8;
  if (too_big) refuse_size(argument, view);
  const auto address = reinterpret_cast<std::uintptr_t>(view.data());
  if (address == 0 || (address & static_cast<std::uintptr_t>(item - 1)) != 0) refuse_pointer(argument, view);
  const ByteSpan bytes{address - static_cast<std::uintptr_t>(-low * item),
                       address + static_cast<std::uintptr_t>((high + 1) * item)};
  if (bytes.begin > address || bytes.end < address) refuse_size(argument, view);
  return bytes;
}

namespace {

struct Axis {
  Index size = 0, stride = 0;
};

// The axes that have a second element, shortest stride first, strides without sign.
struct Axes {
  std::array<Axis, kMaxRank> list{};
  std::size_t count = 0;
};

Axes sorted_axes(const ConstTensorView& view) {
  Axes axes;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.dim(axis) <= 1) continue;
    const Index stride = view.stride(axis) < 0 ? -view.stride(axis) : view.stride(axis);
    std::size_t at = axes.count++;
    for (; at > 0 && axes.list[at - 1].stride > stride; --at) axes.list[at] = axes.list[at - 1];
    axes.list[at] = {view.dim(axis), stride};
  }
  return axes;
}

// A view as blocks of bytes whose starts differ by multiples of `step`: the `inner` shortest axes are
// within a block, the others lead from block to block.
struct Blocks {
  Index length = 0, step = 0;
};

Blocks blocks_of(const Axes& axes, Index item, std::size_t inner) {
  Blocks blocks{item, 0};
  for (std::size_t i = 0; i < axes.count; ++i) {
    const Index stride = axes.list[i].stride * item;
    if (i < inner) {
      blocks.length += (axes.list[i].size - 1) * stride;
    } else {
      blocks.step = std::gcd(blocks.step, stride);
    }
  }
  return blocks;
}

// On a circle of `step` bytes every block of a view covers the same arc. Checks whether two arcs overlap.
bool arcs_meet(std::uintptr_t x_first, const Blocks& x, std::uintptr_t y_first, const Blocks& y) {
  const Index step = std::gcd(x.step, y.step);
  if (step == 0) return true;  // one block each, and their ranges are known to meet
  const auto around = static_cast<std::uintptr_t>(step);
  const auto gap = static_cast<Index>((y_first % around + around - x_first % around) % around);
  return gap < x.length || step - gap < y.length;
}

std::uintptr_t lowest_address(const ConstTensorView& view) {
  auto address = reinterpret_cast<std::uintptr_t>(view.data());
  for (int axis = 0; axis < view.rank(); ++axis) {
    const Index reach = view.stride(axis) * (view.dim(axis) - 1) * static_cast<Index>(size_of(view.dtype()));
    if (reach < 0) address -= static_cast<std::uintptr_t>(-reach);
  }
  return address;
}

}  // namespace

bool writes_once_in_any_order(const ConstTensorView& view) {
  const Axes axes = sorted_axes(view);
  Index reach = 0;  // of all shorter axes together
  for (std::size_t i = 0; i < axes.count; ++i) {
    if (axes.list[i].stride <= reach) return false;
    reach += (axes.list[i].size - 1) * axes.list[i].stride;
  }
  return true;
}

bool may_share(const ConstTensorView& a, const ConstTensorView& b) {
  const Axes x = sorted_axes(a), y = sorted_axes(b);
  const std::uintptr_t x_first = lowest_address(a), y_first = lowest_address(b);
  // One way to cut both views into disjoint blocks proves that they do not overlap.
  for (std::size_t i = 0; i <= x.count; ++i) {
    for (std::size_t j = 0; j <= y.count; ++j) {
      const Blocks of_a = blocks_of(x, static_cast<Index>(size_of(a.dtype())), i),
                   of_b = blocks_of(y, static_cast<Index>(size_of(b.dtype())), j);
      if (!arcs_meet(x_first, of_a, y_first, of_b)) return false;
    }
  }
  return true;
}

std::string divisors(Index n) {
  std::string text;
  int listed = 0;
  for (Index d = 1; d <= n && d <= 65536; ++d) {
    if (n % d != 0) continue;
    if (++listed > 16) return text + ",…";
    text += concat(text.empty() ? "" : ",", d);
  }
  return text;
}

std::string described(const ConstTensorView& view) {
  return concat(name_of(view.dtype()), " ", view.shape().text());
}

}  // namespace headlight
