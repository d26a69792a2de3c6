// Results for a whole run as JSON: labels of every head, and heads ranked by a link.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headlight/look.h"
#include "serve/run.h"

namespace headlight::serve {

// The heads for which labels_json() names similar ones: all of a model, or none if comparing all pairs takes too long.
[[nodiscard]] std::vector<Head> compared_heads(const ModelInfo& model);
// The labels of every head of a part, on the run's text and on the fixed inputs of head_battery.h, and the heads most
// similar. `labels` must be those of compared_heads().
[[nodiscard]] std::string labels_json(const ModelInfo& model, const HeadLabels& labels, Part part);
// The heads with the largest weights for a link, at most kMostLinks of them.
inline constexpr std::size_t kMostLinks = 256;
[[nodiscard]] std::string links_json(const Run& run, Part part, const std::string& link,
                                     const std::vector<LinkScore>& scores);

// Labels take a while, because the battery is read too, so the last answers are kept.
class LabelCache {
 public:
  using Labels = std::shared_ptr<const HeadLabels>;
  [[nodiscard]] Labels find(const std::string& run_id);
  void keep(const std::string& run_id, Labels labels);

 private:
  std::map<std::string, Labels> kept_;
  std::vector<std::string> order_;  // the oldest first
  std::mutex mutex_;
};

}  // namespace headlight::serve
