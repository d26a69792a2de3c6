// Training that starts from an existing model: architecture, context and tokenizer come from its folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/trainable.h"
#include "models/transformer_config.h"
#include "train/checkpoint.h"
#include "train/recipe.h"

namespace headlight::train {

// Opens a folder or a .gguf file. Error{usage} for a recurrent model.
[[nodiscard]] models::TransformerConfig describe_start(const std::string& path);

// Fills in settings that the recipe omits: kind, task, context. Given sizes must equal those of the model, except
// inner widths and model.context, which may be larger: Error{input} that names the setting.
void complete_recipe(Recipe& recipe, const models::TransformerConfig& start);

// Whether the recipe changes the form of the model: wider, with other positions, … Such a model is created by
// make_model() and initialised by take_weights().
[[nodiscard]] bool changes_form(const ModelRecipe& recipe, const models::TransformerConfig& start);

// The model with all parameters trainable, or with an adapter.
[[nodiscard]] std::unique_ptr<models::Trainable> open_start(const std::string& path,
                                                            const models::TransformerConfig& start,
                                                            const Recipe& recipe);

// The file of its parameters, recorded like training data: an adapter depends on it.
[[nodiscard]] DataFile weights_of(const std::string& path);

}  // namespace headlight::train
