// Pixels per inch in a PNG, so that 85 mm on the page are 85 mm.
#pragma once

#include <string>

namespace headlight::draw {

// Inserts the chunk "pHYs" after the header of a well-formed PNG.
[[nodiscard]] std::string with_resolution(std::string png, double dpi);

}  // namespace headlight::draw
