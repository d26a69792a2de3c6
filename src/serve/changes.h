// Changes to heads and links: requests of the page, and answers as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headlight/ablate.h"
#include "serve/run.h"

namespace headlight::serve {

struct ChangeRequest {
  AblationPlan plan;
  std::optional<Index> position = std::nullopt;  // position whose predictions are compared; none: the default

  // The id of the changed run: 16 digits computed from the run's id and the plan.
  [[nodiscard]] std::string id(const std::string& run_id) const;
};
// Throw BadRequest for malformed values, and for heads or tokens that the run does not have.
[[nodiscard]] ChangeRequest parse_change(std::string_view body, const Run& run);

inline constexpr std::size_t kMostSwept =
    64;  // in one request: the page sends several requests and can stop between them
[[nodiscard]] SweepOptions parse_sweep(std::string_view body, const Run& run);

// Throws Error{resource} if predictions at all positions would take too much memory.
void check_predictions(const Run& run);

// `id`: of the changed run, or empty if none is kept.
[[nodiscard]] std::string effect_json(const Model& model, std::string_view id, const AblationEffect& effect);
[[nodiscard]] std::string sweep_json(const Model& model, const SweepResult& result);

}  // namespace headlight::serve
