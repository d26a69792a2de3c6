// Several drawings as one.
#pragma once

#include <vector>

#include "draw/drawing.h"

namespace headlight::draw {

// As wide as the widest; title and background are the first one's. Throws Error{usage} when there is none.
[[nodiscard]] Drawing below_each_other(std::vector<Drawing> drawings);

}  // namespace headlight::draw
