#include "models/adapter_merge.h"

#include <fmt/format.h>

#include "core/escape.h"
#include "headlight/error.h"
#include "nn/low_rank.h"

namespace headlight::models {

AdapterMerge::AdapterMerge(const std::string& folder, const WeightSource& weights) : file_(folder) {
  const std::vector<StoredTensor> tensors = weights.tensors();
  for (const AdapterFile::Module& module : file_.modules()) {
    const StoredTensor* found = nullptr;
    for (const StoredTensor& tensor : tensors)
      if (AdapterFile::same_module(module.name + ".weight", tensor.name)) found = &tensor;
    const std::vector<Index> shape = file_.transposed() ? std::vector<Index>{module.in(), module.out()}
                                                        : std::vector<Index>{module.out(), module.in()};
    if (found == nullptr || found->shape != shape)
      throw Error(ErrorKind::input, found == nullptr ? "adapter.module" : "adapter.shape",
                  fmt::format("{}: has no matrix \"{}\" from {} to {}, for which {} has an adapter",
                              escaped(weights.name()), escaped(module.name, 100), module.in(), module.out(),
                              escaped(folder)));
    modules_.emplace(found->name, &module);
  }
}

void AdapterMerge::add_to(std::string_view name, std::span<float> matrix) const {
  const auto found = modules_.find(name);
  if (found == modules_.end()) return;
  const AdapterFile::Module& module = *found->second;
  nn::LowRank adapter;
  adapter.a.value = file_.load(*module.a, DType::f32);
  adapter.b.value = file_.load(*module.b, DType::f32);
  adapter.scale = file_.scale(module);
  const bool in_out = file_.transposed();
  const Shape shape = in_out ? Shape{module.in(), module.out()} : Shape{module.out(), module.in()};
  nn::add_low_rank_matrix(adapter, in_out ? nn::WeightLayout::in_out : nn::WeightLayout::out_in,
                          TensorView(matrix.data(), shape));
}

}  // namespace headlight::models
