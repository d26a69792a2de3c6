// The arrays of `headlight compute`, read from .npy files and reshaped to the axes of the library.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/attention.h"

namespace headlight::cli {

struct ComputeFiles {
  std::string q, k, v, alibi, mask, bias, sinks, q_lengths, k_lengths, dout;  // empty: not given
};

struct ComputeInputs {
  Tensor q, k, v, dout;
  Shape q_shape, k_shape, v_shape, dout_shape;  // [batch, head, token, dim]
  int dropped = 0;                              // number of missing leading axes: 0, 1 or 2
  Tensor alibi, mask, bias, sinks;
  std::vector<Index> q_lengths, k_lengths;

  [[nodiscard]] ConstTensorView q_view() const { return {q.as<std::byte>(), q.dtype(), q_shape}; }
  [[nodiscard]] ConstTensorView k_view() const { return {k.as<std::byte>(), k.dtype(), k_shape}; }
  [[nodiscard]] ConstTensorView v_view() const { return {v.as<std::byte>(), v.dtype(), v_shape}; }
  [[nodiscard]] ConstTensorView dout_view() const { return {dout.as<std::byte>(), dout.dtype(), dout_shape}; }
};

// With `dtype`, converts q, k, v and dout to it; otherwise they must agree. Throws Error that names the file.
[[nodiscard]] ComputeInputs load_inputs(const ComputeFiles& files, std::optional<DType> dtype);

// A copy in another dtype, each element rounded once.
[[nodiscard]] Tensor converted(ConstTensorView tensor, DType dtype);

// Adds the file of k to the library's message "attention: k has 7 heads …", and the shapes of q, k and v
// below it.
[[nodiscard]] Error with_files(const Error& error, const ComputeFiles& files, const ComputeInputs& inputs);

}  // namespace headlight::cli
