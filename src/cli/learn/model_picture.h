// Pictures of the course that show a model.
#pragma once

#include "draw/drawing.h"
#include "learn/lesson.h"

namespace headlight::cli {

// Opens the model and draws the head. Throws Error{file} when the model is not found.
[[nodiscard]] draw::Drawing model_picture(const learn::ModelPicture& wanted);

}  // namespace headlight::cli
