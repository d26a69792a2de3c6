#include "support/shared_data.h"

#include <cstdlib>

namespace headlight::testing {

std::optional<std::filesystem::path> shared_data() {
  std::filesystem::path path = std::filesystem::path(HEADLIGHT_SOURCE).parent_path() / "shared";
  if (const char* given = std::getenv("HEADLIGHT_SHARED"); given != nullptr && *given != '\0') path = given;
  if (std::filesystem::is_directory(path / "golden")) return path;
  return std::nullopt;
}

}  // namespace headlight::testing
