// The numbers written beside a colour scale.
#pragma once

#include <string>
#include <vector>

#include "draw/color.h"

namespace headlight::draw {

struct Tick {
  double place = 0;  // 0 … 1 along the scale
  std::string text;
};
[[nodiscard]] std::vector<Tick> scale_ticks(const ColorScale& scale);

// "0.25", "1e-04": up to three digits.
[[nodiscard]] std::string short_number(double value);
// The quantity of the scale: "weight", or "difference".
[[nodiscard]] std::string_view quantity(bool is_signed) noexcept;

}  // namespace headlight::draw
