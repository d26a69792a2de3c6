// From a recipe's [model] section to a model with random parameters.
#pragma once

#include <memory>

#include "models/trainable.h"
#include "train/prepare.h"
#include "train/recipe.h"

namespace headlight::train {

struct ModelNeeds {
  Index vocabulary = 0;
  Index context = 0;    // longest sequence on either side
  bool source = false;  // the task has a source
  SpecialIds special = {};
};

// Throws Error{usage} for inconsistent sizes, or a kind that cannot do the task.
[[nodiscard]] std::unique_ptr<models::Trainable> make_model(const ModelRecipe& recipe,
                                                            const ModelNeeds& needs, std::uint64_t seed);

}  // namespace headlight::train
