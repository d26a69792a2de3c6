// Drawings as pages: several in one PDF, and one drawing inside another.
#pragma once

#include <string>
#include <vector>

#include "draw/drawing.h"

namespace headlight::draw {

// One PDF with a page for each; its title is that of the first. The same pages give the same bytes. Throws Error{usage}
// if there are none.
[[nodiscard]] std::string encoded_pages(const std::vector<Drawing>& pages);

// Adds everything on `picture` to `page`, scaled, with its top left corner at `at`.
void place(Drawing& page, const Drawing& picture, Point at, double scale);

}  // namespace headlight::draw
