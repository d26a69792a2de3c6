#include <vector>

#include "headlight/nn.h"
#include "nn/drive.h"
#include "nn/stored_product.h"

namespace headlight::nn {
namespace {

void check_ids(const Parameter& weight, std::span<const std::int32_t> ids, const ConstTensorView& y) {
  const Shape shape = weight.shape();
  check_matrix(weight.name, "y", y, weight.value.dtype(), shape[1], static_cast<Index>(ids.size()));
  const Index rows = shape[0];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= rows) {
      throw Error(ErrorKind::input, "nn.token",
                  concat(weight.name, ": token ", i, " is number ", ids[i], "; the table has ", rows,
                         " rows, numbered from 0"));
    }
  }
}

template <class T>
void gather(Context& ctx, const Tensor& table, std::span<const std::int32_t> ids, const TensorView& y,
            T factor, bool add) {
  const auto& kernels = kernels::element_kernels_for(ctx.target()).of<T>();
  const Index width = table.dim(1);
  for_each_row(ctx, y.dim(0), width, [&](Index r) {
    const T* from = table.as<T>() + ids[static_cast<std::size_t>(r)] * width;
    T* to = y.as<T>() + r * y.stride(0);
    if (add) kernels.add(to, from, to, width);
    else if (factor == T{1}) std::memcpy(to, from, sizeof(T) * static_cast<std::size_t>(width));
    else kernels.scaled(factor, from, nullptr, to, width);
  });
}

// The same from a stored table, row by row.
void gather_stored(Context& ctx, const StoredMatrix& table, std::span<const std::int32_t> ids,
                   const TensorView& y, float factor, bool add) {
  if (!table.given()) throw Error(ErrorKind::usage, "nn.stored", "embedding: the table was not loaded");
  const auto& kernels = kernels::element_kernels_for(ctx.target()).of<float>();
  const Index width = table.columns();
  for_row_blocks(ctx, y.dim(0), width, [&](Index, Index first, Index rows) {
    std::vector<float> row(add ? static_cast<std::size_t>(width) : 0);
    for (Index r = first; r < first + rows; ++r) {
      float* to = y.as<float>() + r * y.stride(0);
      read_row(ctx, table, ids[static_cast<std::size_t>(r)], add ? row.data() : to);
      if (add) kernels.add(to, row.data(), to, width);
      else if (factor != 1) kernels.scaled(factor, to, nullptr, to, width);
    }
  });
}

}  // namespace

Embedding::Embedding(const std::string& name, Index rows, Index width, DType dtype, Weights weights) {
  weight.name = name + ".weight";
  if (weights == Weights::own) weight.value = Tensor({rows, width}, dtype);
  else weight.stored = StoredMatrix(rows, width);
}

void Embedding::forward(Context& ctx, std::span<const std::int32_t> ids, TensorView y, double factor) const {
  const CallScope scope(ctx);
  check_ids(weight, ids, y);
  if (!weight.stored.empty())
    return gather_stored(ctx, weight.stored, ids, y, static_cast<float>(factor), false);
  with_type(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    gather<T>(ctx, weight.value, ids, y, static_cast<T>(factor), false);
  });
}

void Embedding::forward_add(Context& ctx, std::span<const std::int32_t> ids, TensorView y) const {
  const CallScope scope(ctx);
  check_ids(weight, ids, y);
  if (!weight.stored.empty()) return gather_stored(ctx, weight.stored, ids, y, 1, true);
  with_type(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    gather<T>(ctx, weight.value, ids, y, T{1}, true);
  });
}

// Rows of one id are added by one worker, in the order of the tokens, so bits do not depend on threads.
void Embedding::backward(Context& ctx, std::span<const std::int32_t> ids, ConstTensorView dy, double factor,
                         std::int32_t fixed) {
  const CallScope scope(ctx);
  check_ids(weight, ids, dy);
  if (!weight.trained) return;
  const Index tokens = dy.dim(0), width = weight.value.dim(1);
  std::vector<Index> order(static_cast<std::size_t>(tokens));
  for (Index i = 0; i < tokens; ++i) order[static_cast<std::size_t>(i)] = i;
  const auto id_of = [&](Index token) { return ids[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return id_of(a) < id_of(b); });
  std::vector<Index> groups;  // where in `order` the next id begins
  for (Index i = 0; i < tokens; ++i) {
    if (i == 0 ||
        id_of(order[static_cast<std::size_t>(i)]) != id_of(order[static_cast<std::size_t>(i - 1)])) {
      groups.push_back(i);
    }
  }
  const auto count = static_cast<Index>(groups.size());
  groups.push_back(tokens);
  const TensorView grad = grad_of(weight);
  with_elements(ctx, dy.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    for_row_blocks(ctx, count, width * tokens / std::max<Index>(1, count), [&](Index, Index first, Index n) {
      for (Index g = first; g < first + n; ++g) {
        for (Index i = groups[static_cast<std::size_t>(g)]; i < groups[static_cast<std::size_t>(g + 1)];
             ++i) {
          const Index token = order[static_cast<std::size_t>(i)];
          if (id_of(token) == fixed) continue;
          T* to = grad.as<T>() + id_of(token) * width;
          kernels.scaled(static_cast<T>(factor), dy.as<T>() + token * dy.stride(0), to, to, width);
        }
      }
    });
  });
}

void Embedding::collect(Parameters& list) {
  if (!weight.empty()) list.push_back(&weight);
}

}  // namespace headlight::nn
