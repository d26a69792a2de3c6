// The curves of a training run, read back from its log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::train {

struct MetricPoint {
  double step = 0, value = 0;
};

// What can be plotted: its values of training, of validation, or both.
struct Metric {
  std::string_view name;          // "loss"
  std::string_view label;         // with its unit
  std::string_view train, valid;  // as metrics.jsonl has them; empty: it has none
  bool higher_is_better = false;
};
[[nodiscard]] const std::vector<Metric>& metrics();

struct MetricCurves {
  std::vector<MetricPoint> train, valid;
};
// From metrics.jsonl in the folder of a run. An incomplete last line is ignored: a run can be read while it is running.
// Throws Error{input} if the run has no such numbers yet.
[[nodiscard]] MetricCurves read_metric(const std::string& folder, const Metric& metric);

}  // namespace headlight::train
