// Splits the axes of products into tasks.
#pragma once

#include <algorithm>

#include "headlight/attention.h"
#include "headlight/tensor.h"

namespace headlight::nn {

[[nodiscard]] constexpr Index round_up(Index n, Index to) { return (n + to - 1) / to * to; }

// Cuts an axis into parts of whole strips (or panels) that differ by one of them at most.
struct Cuts {
  Index size, unit, units, parts;
  Cuts(Index n, Index whole, Index wanted)
      : size(n), unit(whole), units((n + whole - 1) / whole), parts(std::min(units, wanted)) {}
  [[nodiscard]] Range part(Index number) const {
    return {number * units / parts * unit, std::min(size, (number + 1) * units / parts * unit)};
  }
  [[nodiscard]] Index largest() const { return (units + parts - 1) / parts * unit; }
};

}  // namespace headlight::nn
