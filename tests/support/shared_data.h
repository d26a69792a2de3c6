// Where the reference numbers and corpora are: $HEADLIGHT_SHARED, or `shared` beside the checkout.
#pragma once

#include <filesystem>
#include <optional>

namespace headlight::testing {

// Nothing when absent: the test then says so and is counted as skipped, never as passed.
[[nodiscard]] std::optional<std::filesystem::path> shared_data();

}  // namespace headlight::testing
