// Views of parts of tensors (some items, heads or tokens), and loops over their rows.
#pragma once

#include <cstring>

#include "headlight/attention.h"

namespace headlight::dist {

[[nodiscard]] inline Shape strides_of(const ConstTensorView& view) {
  Shape strides = view.shape();
  for (int axis = 0; axis < view.rank(); ++axis)
    strides.dims[static_cast<std::size_t>(axis)] = view.stride(axis);
  return strides;
}

[[nodiscard]] inline TensorView part_of(const TensorView& view, int axis, Range range) {
  Shape shape = view.shape();
  shape.dims[static_cast<std::size_t>(axis)] = range.size();
  auto* data = view.as<std::byte>();
  if (shape.elements() > 0)
    data += range.begin * view.stride(axis) * static_cast<Index>(size_of(view.dtype()));
  return {data, view.dtype(), shape, strides_of(view)};
}

[[nodiscard]] inline ConstTensorView part_of(const ConstTensorView& view, int axis, Range range) {
  return part_of(TensorView(const_cast<void*>(view.data()), view.dtype(), view.shape(), strides_of(view)),
                 axis, range);
}

// A part of a mask, of a bias or of its gradient, along one of the four axes that it broadcasts to.
template <class View>
[[nodiscard]] View broadcast_part(const View& view, int axis, Range range) {
  const int own = axis - (kMaxRank - view.rank());
  if (view.empty() || own < 0 || view.dim(own) == 1) return view;
  return part_of(view, own, range);
}

// A [batch, head, token] tensor as rows of one element each.
template <class View>
[[nodiscard]] View as_rows(const View& view) {
  if (view.rank() != 3) return view;
  return {view.data(),
          view.dtype(),
          {view.dim(0), view.dim(1), view.dim(2), 1},
          {view.stride(0), view.stride(1), view.stride(2), 1}};
}

// Calls use(address of row) for every row of a 4-axis view with contiguous rows, in order of batch, head and token.
template <class Use>
void each_row(const ConstTensorView& view, const Use& use) {
  const auto item = static_cast<Index>(size_of(view.dtype()));
  auto* base = const_cast<std::byte*>(view.as<std::byte>());
  for (Index b = 0; b < view.dim(0); ++b)
    for (Index h = 0; h < view.dim(1); ++h)
      for (Index t = 0; t < view.dim(2); ++t)
        use(base + (b * view.stride(0) + h * view.stride(1) + t * view.stride(2)) * item);
}

[[nodiscard]] inline std::size_t bytes_of(const ConstTensorView& view) {
  return static_cast<std::size_t>(view.shape().elements()) * size_of(view.dtype());
}

// Copy the rows of a view to and from contiguous memory. Both return the address after the last row.
inline std::byte* pack_rows(const ConstTensorView& view, std::byte* to) {
  const std::size_t row = static_cast<std::size_t>(view.dim(3)) * size_of(view.dtype());
  each_row(view, [&](const std::byte* from) { std::memcpy(to, from, row), to += row; });
  return to;
}
inline const std::byte* unpack_rows(const std::byte* from, const TensorView& view) {
  const std::size_t row = static_cast<std::size_t>(view.dim(3)) * size_of(view.dtype());
  each_row(view, [&](std::byte* to) { std::memcpy(to, from, row), from += row; });
  return from;
}

}  // namespace headlight::dist
