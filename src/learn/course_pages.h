// The course to print: A4 pages of text, arithmetic, pictures and exercises; the answers at the end.
#pragma once

#include <vector>

#include "draw/drawing.h"

namespace headlight::learn {

[[nodiscard]] std::vector<draw::Drawing> course_pages();

}  // namespace headlight::learn
