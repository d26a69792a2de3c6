#include "cli/model_places.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "inspect/loaded_model.h"

namespace headlight::cli {

std::vector<std::string> model_places() {
  namespace fs = std::filesystem;
  std::vector<std::string> places;
  const char* own = std::getenv("HEADLIGHT_MODELS");
  if (own != nullptr && *own != '\0') places.emplace_back(own);
  places.emplace_back("models");
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  if (problem) return places;
  // build/release/headlight, then PREFIX/bin/headlight.
  for (const fs::path& place :
       {program.parent_path() / "../../models", program.parent_path() / "../share/headlight/models"}) {
    const bool known = std::any_of(places.begin(), places.end(), [&](const std::string& other) {
      return fs::equivalent(place, other, problem);
    });
    if (!known && fs::is_directory(place, problem)) places.push_back(place.lexically_normal().string());
  }
  return places;
}

std::string find_files(const std::string& name) {
  std::error_code problem;
  if (std::filesystem::exists(name, problem) && !std::filesystem::is_directory(name, problem)) return name;
  return inspect::find_model(name, model_places());
}

}  // namespace headlight::cli
