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
  std::string name;  // its place in the model: "decoder.layers.0.attention.query.weight"
  Tensor value;
  Tensor grad = {};     // shape and dtype of value; empty until gradients are wanted. backward() adds to it
  bool decays = true;   // weight decay: matrices do; biases, norms and sinks do not
  bool trained = true;  // false: fixed numbers such as sinusoidal positions
  // The matrix of a model that is run and not trained, in its own precision; `value` is then empty.
  StoredMatrix stored = {};

  [[nodiscard]] bool empty() const noexcept { return value.empty() && stored.empty(); }
  [[nodiscard]] Shape shape() const { return stored.empty() ? value.shape() : stored.shape(); }
  // One number of a matrix, wherever it is.
  [[nodiscard]] double at(Index row, Index column) const {
    return stored.empty() ? value.at(row, column) : stored.at(row, column);
  }
};

// In a fixed order, the same for every model of one config. A tied parameter is there once.
using Parameters = std::vector<Parameter*>;

}  // namespace headlight

#pragma GCC visibility pop
