// The parameters of a model: named tensors with their gradients. Modules own them; optimizers and files see
// them as a list.
#pragma once

#include <string>
#include <vector>

#include "headlight/stored_matrix.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight {

struct Parameter {
  std::string name;  // its path in the model: "decoder.layers.0.attention.query.weight"
  Tensor value;
  Tensor grad = {};     // shape and dtype of value; empty until the first backward(), which adds to it
  bool decays = true;   // weight decay: matrices do; biases, norms and sinks do not
  bool trained = true;  // false: fixed numbers such as sinusoidal positions
  // Inference only: the matrix in the precision of its file; `value` is then empty.
  StoredMatrix stored = {};

  [[nodiscard]] bool empty() const noexcept { return value.empty() && stored.empty(); }
  [[nodiscard]] Shape shape() const { return stored.empty() ? value.shape() : stored.shape(); }
  // One element of a matrix, from `value` or `stored`.
  [[nodiscard]] double at(Index row, Index column) const {
    return stored.empty() ? value.at(row, column) : stored.at(row, column);
  }
};

// The order is fixed by the config. A tied parameter occurs once.
using Parameters = std::vector<Parameter*>;

}  // namespace headlight

#pragma GCC visibility pop
