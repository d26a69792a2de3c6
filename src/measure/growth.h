// Growth of time and memory: attention with the length, a training step with its batch and its width, opening a model
// with the size of its file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/context.h"
#include "headlight/tensor.h"

namespace headlight::measure {

struct GrowthPoint {
  double size = 0;  // tokens, sequences, width or MB
  double seconds = 0;
  std::optional<double> memory_mb = {};  // the largest increase of resident memory, including tensors
};

struct GrowthCurve {
  std::string name, unit;  // "attention, forward", "tokens"
  double expected = 1;     // the exponent expected from counting operations, for large sizes
  std::vector<GrowthPoint> points;

  // Exponents of the size, from the larger half of the points: time ~ size^slope. Empty with fewer than two points.
  [[nodiscard]] std::optional<double> time_slope() const;
  [[nodiscard]] std::optional<double> memory_slope() const;
};

struct GrowthOptions {
  int threads = 1;
  SimdTarget target = SimdTarget::automatic;
  Index longest = 131072;  // tokens: a power of two, at least 64
  std::string folder;      // an existing folder for the files of models; they are removed afterwards
};

// Called before each point is measured.
using GrowthStep = std::function<void(std::string_view curve, double size)>;
[[nodiscard]] std::vector<GrowthCurve> measure_growth(const GrowthOptions& options, const GrowthStep& step);

[[nodiscard]] std::string to_table(const std::vector<GrowthCurve>& curves);
[[nodiscard]] std::string to_json(const std::vector<GrowthCurve>& curves);

}  // namespace headlight::measure
