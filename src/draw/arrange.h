// Drawings put together: below each other, or in another size with words around.
#pragma once

#include <string>
#include <vector>

#include "draw/drawing.h"

namespace headlight::draw {

// As wide as the widest; title and background are the first one's. Throws Error{usage} when there is none.
[[nodiscard]] Drawing below_each_other(std::vector<Drawing> drawings);

// For drawings of fixed layout, whose letters grow with their width. 0: as drawn.
struct Frame {
  double width_mm = 0;  // of the drawing
  double font_size =
      0;  // points, of most of its letters; those of the words around it if there is a width as well
  std::string title = {}, caption = {};  // above and below it
};
// Throws Error{usage} for sizes that FigureStyle refuses.
[[nodiscard]] Drawing framed(Drawing drawing, const Frame& frame);

// Size of most letters of a drawing; 0: it has none.
[[nodiscard]] double usual_font_size(const Drawing& drawing);

}  // namespace headlight::draw
