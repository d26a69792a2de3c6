// Elementwise operations of layers between products: activations, gates, dropout, rotations and
// sums over rows. This file is plain C++; the arithmetic is in elementwise.cc, once per SIMD target.
//
// An element's bits depend only on its own inputs, never on its neighbours or its position in a vector.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "headlight/tensor.h"

namespace headlight::kernels {

enum class Curve : std::uint8_t { relu, gelu, gelu_tanh, silu, tanh, sigmoid };

// A matrix of `rows` rows; strides count elements from row to row.
template <class T>
struct CurveRows {
  Index rows = 0, columns = 0;
  const T* x = nullptr;
  Index x_stride = 0;
  T* y = nullptr;
  Index y_stride = 0;
};

// Backward pass: dx = dy · curve'(x). dx may be dy. Adds the rows of dx to `sums` unless it is null.
template <class T>
struct CurveBackRows {
  Index rows = 0, columns = 0;
  const T* x = nullptr;
  Index x_stride = 0;
  const T* dy = nullptr;
  Index dy_stride = 0;
  T* dx = nullptr;
  Index dx_stride = 0;
  T* sums = nullptr;
};

// y = curve(gate) · up, and the gradients of both.
template <class T>
struct GateRows {
  Index rows = 0, columns = 0;
  const T* gate = nullptr;
  const T* up = nullptr;
  Index x_stride = 0;  // of gate and up
  T* y = nullptr;
  Index y_stride = 0;
};
template <class T>
struct GateBackRows {
  Index rows = 0, columns = 0;
  const T* gate = nullptr;
  const T* up = nullptr;
  Index x_stride = 0;
  const T* dy = nullptr;
  Index dy_stride = 0;
  T* dgate = nullptr;
  T* dup = nullptr;
  Index dx_stride = 0;
};

// The first 2·half elements of a row, turned in pairs: (j, j + half), or (2j, 2j + 1) when `interleaved`.
template <class T>
struct Rotation {
  const T* cos = nullptr;  // [half]
  const T* sin = nullptr;
  Index half = 0;
  bool interleaved = false;
  bool backward = false;  // by the opposite angle
};

template <class T>
struct ElementKernels {
  void (*add)(const T* a, const T* b, T* y, Index n);               // y = a + b
  void (*scaled)(T factor, const T* a, const T* b, T* y, Index n);  // y = factor·a + b; b may be null
  void (*multiply)(const T* a, const T* b, T* y, Index n);          // y = a·b
  void (*sum_rows)(const T* x, Index stride, Index rows, Index n, T* sums);  // sums += rows of x
  void (*apply)(Curve curve, const CurveRows<T>& rows);
  void (*pull_back)(Curve curve, const CurveBackRows<T>& rows);
  void (*gate)(Curve curve, const GateRows<T>& rows);
  void (*gate_back)(Curve curve, const GateBackRows<T>& rows);
  // y = x·factor where the row's word is kept, 0 elsewhere, plus `add` unless it is null.
  void (*drop)(const DropoutKey& key, T factor, Index row, const T* x, const T* add, T* y, Index n);
  void (*rotate)(const Rotation<T>& rotation, const T* x, T* y);  // y may be x
};

struct ElementTable {
  ElementKernels<float> f32;
  ElementKernels<double> f64;
  template <class T>
  [[nodiscard]] const ElementKernels<T>& of() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};

}  // namespace headlight::kernels
