#include "models/adapter_merge.h"

#include <fmt/format.h>

#include "core/escape.h"
#include "headlight/error.h"

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
  // As if the matrix were [rows, columns] = left·right, with the scale in it.
  Tensor a = file_.load(*module.a, DType::f32), b = file_.load(*module.b, DType::f32);
  const Index rank = module.rank();
  const Index rows = file_.transposed() ? module.in() : module.out(),
              columns = file_.transposed() ? module.out() : module.in();
  std::vector<float> sums(static_cast<std::size_t>(columns)), right(static_cast<std::size_t>(rank * columns));
  for (Index k = 0; k < rank; ++k)
    for (Index c = 0; c < columns; ++c)
      right[static_cast<std::size_t>(k * columns + c)] =
          static_cast<float>(file_.scale(module) * (file_.transposed() ? b.at(c, k) : a.at(k, c)));
  for (Index r = 0; r < rows; ++r) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (Index k = 0; k < rank; ++k) {
      const auto left = static_cast<float>(file_.transposed() ? a.at(k, r) : b.at(r, k));
      const float* from = right.data() + k * columns;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += left * from[c];
    }
    float* row = matrix.data() + r * columns;
    for (std::size_t c = 0; c < sums.size(); ++c) row[c] += sums[c];
  }
}

}  // namespace headlight::models
