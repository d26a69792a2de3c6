// Paths of the files that a recipe names.
#pragma once

#include <string>

#include "train/recipe.h"

namespace headlight::train {

// A relative path is searched in the folder of the recipe first, then in the working folder.
// Settings that a checkpoint keeps stay as the recipe has them.
void resolve_paths(Recipe& recipe, const std::string& recipe_file);

}  // namespace headlight::train
