// Dense products, the work of every layer except attention. The same bits for any number of threads and
// any other rows and columns: an element of c is one chain of fused multiply-adds over the depth, in blocks
// of fixed length.
#pragma once

#include "headlight/context.h"
#include "headlight/tensor.h"

namespace headlight::nn {

enum class MatrixForm { plain, transposed };

// c = op(a)·op(b) + bias, or c += op(a)·op(b). All f32 or all f64; matrices with a contiguous last axis.
struct Product {
  ConstTensorView a;  // [rows, depth], or [depth, rows] when transposed
  ConstTensorView b;  // [depth, columns], or [columns, depth] when transposed
  TensorView c;       // [rows, columns]; must not overlap a or b
  MatrixForm a_form = MatrixForm::plain, b_form = MatrixForm::plain;
  ConstTensorView bias = {};  // [columns], added to every row; only without `accumulate`
  bool accumulate = false;
};
void multiply(Context& ctx, const Product& product);

}  // namespace headlight::nn
