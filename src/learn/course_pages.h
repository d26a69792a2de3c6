// The printed course: A4 pages with contents, text, arithmetic, pictures and exercises; the answers at the end.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "draw/drawing.h"
#include "learn/lesson.h"

namespace headlight::learn {

// Draws a picture that shows a model; nothing if that model is not installed, and the command is printed instead.
using ModelPictures = std::function<std::optional<draw::Drawing>(const ModelPicture&)>;
[[nodiscard]] std::vector<draw::Drawing> course_pages(const ModelPictures& model_pictures = nullptr);

}  // namespace headlight::learn
