#include "train/recipe_paths.h"

#include <filesystem>

namespace headlight::train {

void resolve_paths(Recipe& recipe, const std::string& recipe_file) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(recipe_file).parent_path();
  if (folder.empty()) return;
  const auto resolve = [&](std::string& path) {
    if (path.empty() || fs::path(path).is_absolute()) return;
    std::error_code unknown;
    if (fs::exists(folder / path, unknown)) path = (folder / path).string();
  };
  resolve(recipe.model.start);
  resolve(recipe.tokenizer.file);
  DataRecipe& data = recipe.data;
  for (std::vector<std::string>* list : {&data.train, &data.valid, &data.train_source, &data.train_target,
                                         &data.valid_source, &data.valid_target, &data.linked})
    for (std::string& path : *list) resolve(path);
}

}  // namespace headlight::train
