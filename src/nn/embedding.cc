#include <vector>

#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

void check_ids(const Parameter& weight, std::span<const std::int32_t> ids, const ConstTensorView& y) {
  check_matrix(weight.name, "y", y, weight.value.dtype(), weight.value.dim(1),
               static_cast<Index>(ids.size()));
  const Index rows = weight.value.dim(0);
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
  for_row_blocks(ctx, y.dim(0), width, [&](Index, Index first, Index rows) {
    for (Index r = first; r < first + rows; ++r) {
      const T* from = table.as<T>() + ids[static_cast<std::size_t>(r)] * width;
      T* to = y.as<T>() + r * y.stride(0);
      if (add) kernels.add(to, from, to, width);
      else if (factor == T{1}) std::memcpy(to, from, sizeof(T) * static_cast<std::size_t>(width));
      else kernels.scaled(factor, from, nullptr, to, width);
    }
  });
}

}  // namespace

Embedding::Embedding(const std::string& name, Index rows, Index width, DType dtype) {
  weight = {name + ".weight", Tensor({rows, width}, dtype)};
}

void Embedding::forward(Context& ctx, std::span<const std::int32_t> ids, TensorView y, double factor) const {
  check_ids(weight, ids, y);
  with_type(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    gather<T>(ctx, weight.value, ids, y, static_cast<T>(factor), false);
  });
}

void Embedding::forward_add(Context& ctx, std::span<const std::int32_t> ids, TensorView y) const {
  check_ids(weight, ids, y);
  with_type(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    gather<T>(ctx, weight.value, ids, y, T{1}, true);
  });
}

// Rows of one number are added by one worker, in the order of the tokens: bits depend on no thread.
void Embedding::backward(Context& ctx, std::span<const std::int32_t> ids, ConstTensorView dy, double factor,
                         std::int32_t fixed) {
  check_ids(weight, ids, dy);
  const Index tokens = dy.dim(0), width = weight.value.dim(1);
  std::vector<Index> order(static_cast<std::size_t>(tokens));
  for (Index i = 0; i < tokens; ++i) order[static_cast<std::size_t>(i)] = i;
  const auto id_of = [&](Index token) { return ids[static_cast<std::size_t>(token)]; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return id_of(a) < id_of(b); });
  std::vector<Index> groups;  // where in `order` a new number begins
  for (Index i = 0; i < tokens; ++i) {
    if (i == 0 ||
        id_of(order[static_cast<std::size_t>(i)]) != id_of(order[static_cast<std::size_t>(i - 1)])) {
      groups.push_back(i);
    }
  }
  const auto count = static_cast<Index>(groups.size());
  groups.push_back(tokens);
  const TensorView grad = grad_of(weight);
  with_type(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = kernels::element_kernels_for(ctx.target()).of<T>();
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
  if (!weight.value.empty()) list.push_back(&weight);
}

}  // namespace headlight::nn
