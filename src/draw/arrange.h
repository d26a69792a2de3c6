// Combines drawings: below each other, or resized with text around.
#pragma once

#include <string>
#include <vector>

#include "draw/drawing.h"

namespace headlight::draw {

// As wide as the widest; title and background are those of the first. Throws Error{usage} if there is none.
[[nodiscard]] Drawing below_each_other(std::vector<Drawing> drawings);

// For drawings of fixed layout, whose font size grows with their width. 0: unscaled.
struct Frame {
  double width_mm = 0;                   // of the drawing
  double font_size = 0;                  // points, of most letters; with a width, also of the text around it
  std::string title = {}, caption = {};  // above and below it
};
// Throws Error{usage} for sizes that FigureStyle rejects.
[[nodiscard]] Drawing framed(Drawing drawing, const Frame& frame);

// Font size of most letters of a drawing; 0: it has no text.
[[nodiscard]] double usual_font_size(const Drawing& drawing);

}  // namespace headlight::draw
