// The playground's answers as JSON.
#pragma once

#include <string>
#include <vector>

#include "playground/toy_session.h"

namespace headlight::serve {

// Tasks, presets, ranges of settings and the kept runs, as JSON.
[[nodiscard]] std::string playground_json(const std::vector<playground::ToyRecord>& runs);
// A run and its frames; `after` is the number of the first of them.
[[nodiscard]] std::string frames_json(const playground::ToyRecord& record, std::size_t after);
[[nodiscard]] std::string toy_ablation_json(const playground::ToyAblation& ablation);
[[nodiscard]] std::string saved_json(const std::string& name, const std::string& folder);

}  // namespace headlight::serve
