#include "nn/low_rank.h"

#include <vector>

#include "nn/drive.h"
#include "nn/matmul.h"

namespace headlight::nn {
namespace {

// scale·from·op(with), with as many columns as the rank: small compared with the other products.
Tensor narrow(Context& ctx, const LowRank& adapter, const ConstTensorView& from, const ConstTensorView& with,
              MatrixForm form) {
  Tensor t = Tensor::uninitialized({from.dim(0), adapter.rank()}, from.dtype());
  multiply(ctx, {.a = from, .b = with, .c = t, .b_form = form});
  with_type(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto scale = static_cast<T>(adapter.scale);
    T* numbers = t.as<T>();
    for (Index i = 0, n = t.shape().elements(); i < n; ++i) numbers[i] *= scale;
  });
  return t;
}

}  // namespace

void add_low_rank(Context& ctx, const LowRank& adapter, ConstTensorView x, TensorView y) {
  const CallScope scope(ctx);
  const Tensor t = narrow(ctx, adapter, x, adapter.a.value, MatrixForm::transposed);
  multiply(ctx, {.a = t, .b = adapter.b.value, .c = y, .b_form = MatrixForm::transposed, .accumulate = true});
}

void add_low_rank_input(Context& ctx, const LowRank& adapter, ConstTensorView dy, TensorView dx) {
  const CallScope scope(ctx);
  const Tensor t = narrow(ctx, adapter, dy, adapter.b.value, MatrixForm::plain);
  multiply(ctx, {.a = t, .b = adapter.a.value, .c = dx, .accumulate = true});
}

void learn_low_rank(Context& ctx, LowRank& adapter, ConstTensorView x, ConstTensorView dy) {
  const CallScope scope(ctx);
  if (adapter.b.trained) {
    const Tensor t = narrow(ctx, adapter, x, adapter.a.value, MatrixForm::transposed);
    multiply(
        ctx,
        {.a = dy, .b = t, .c = grad_of(adapter.b), .a_form = MatrixForm::transposed, .accumulate = true});
  }
  if (adapter.a.trained) {
    const Tensor t = narrow(ctx, adapter, dy, adapter.b.value, MatrixForm::plain);
    multiply(ctx,
             {.a = t, .b = x, .c = grad_of(adapter.a), .a_form = MatrixForm::transposed, .accumulate = true});
  }
}

void add_low_rank_matrix(const LowRank& adapter, WeightLayout layout, TensorView matrix) {
  const bool out_in = layout == WeightLayout::out_in;
  const ConstTensorView a = adapter.a.value, b = adapter.b.value;
  const Index rows = matrix.dim(0), columns = matrix.dim(1), rank = adapter.rank();
  // The factor that is read along a row of the matrix, with the scale: [rank, columns].
  std::vector<double> along(static_cast<std::size_t>(rank * columns)),
      sums(static_cast<std::size_t>(columns));
  for (Index k = 0; k < rank; ++k)
    for (Index c = 0; c < columns; ++c)
      along[static_cast<std::size_t>(k * columns + c)] = adapter.scale * (out_in ? a.at(k, c) : b.at(c, k));
  with_type(matrix.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (Index r = 0; r < rows; ++r) {
      T* row = matrix.as<T>() + r * columns;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] = row[c];
      for (Index k = 0; k < rank; ++k) {
        const double factor = out_in ? b.at(r, k) : a.at(k, r);
        const double* from = along.data() + k * columns;
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += factor * from[c];
      }
      for (std::size_t c = 0; c < sums.size(); ++c) row[c] = static_cast<T>(sums[c]);
    }
  });
}

void Linear::adapt(Index rank, double scale) {
  if (rank < 1)
    throw Error(ErrorKind::usage, "nn.config",
                concat(weight.name, ": an adapter of rank ", rank, "; need 1 or more"));
  const std::string name = weight.name.substr(0, weight.name.rfind(".weight"));
  const DType dtype = weight.value.dtype();
  adapter.a = {name + ".lora_A.weight", Tensor({rank, config_.in}, dtype)};
  adapter.b = {name + ".lora_B.weight", Tensor({config_.out, rank}, dtype)};
  adapter.scale = scale;
}

void Linear::merge_adapter(Context& ctx) {
  const CallScope scope(ctx);
  if (adapter.empty()) return;
  if (!weight.stored.empty())
    throw Error(ErrorKind::usage, "nn.adapter",
                concat(weight.name, ": a stored matrix cannot be changed; keep its adapter separate"));
  add_low_rank_matrix(adapter, config_.layout, weight.value);
  adapter = {};
}

}  // namespace headlight::nn
