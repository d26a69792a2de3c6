// The settings of the playground, and the model built from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/transformer.h"
#include "playground/toy_task.h"

namespace headlight::playground {

struct ToySettings {
  ToyKind task = ToyKind::induction;
  Index layers = 2, heads = 2, width = 32;
  bool positions = true;  // learned positions; false: all zero
  bool mask = true;       // a token sees only itself and earlier ones
  bool scale = true;      // scores are divided by √d
  bool residual = true;   // steps add to the stream; false: they replace it
  std::int64_t steps = 600;
  double rate = 3e-3;
  std::uint64_t seed = 1;
  bool operator==(const ToySettings&) const = default;
};

// Takes "layers" and "2", "mask" and "off". Throws Error{usage} that names the setting, its value and its range.
void set(ToySettings& settings, std::string_view name, std::string_view value);
// All of them, as set() reads them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> written(const ToySettings& settings);
// The range of a setting, for messages and pages; 0 and 1 for switches.
struct ToyRange {
  std::string_view name;
  double least = 0, most = 0;
};
[[nodiscard]] const std::vector<ToyRange>& ranges();
// Throws Error{usage} for numbers that do not fit together: a width that is not a multiple of the heads.
void check(const ToySettings& settings);

[[nodiscard]] ToyTask task_of(const ToySettings& settings);
[[nodiscard]] std::unique_ptr<models::Transformer> model_of(const ToySettings& settings, const ToyTask& task);
// Approximate bytes for training: parameters with their gradients and averages, and activations of a batch.
[[nodiscard]] double memory_of(const ToySettings& settings);

}  // namespace headlight::playground
