// Identifies a head of a model.
#pragma once

#include <cstdint>

#include "headlight/trace.h"

#pragma GCC visibility push(default)

namespace headlight {

// Within one part of a model.
struct HeadPlace {
  int layer = 0, head = 0;
  bool operator==(const HeadPlace&) const = default;
};

// Within the whole model.
struct Head {
  Part part = Part::decoder;
  int layer = 0, head = 0;
  [[nodiscard]] HeadPlace place() const { return {layer, head}; }
  bool operator==(const Head&) const = default;
};

// The numbers of a map: weights, scores before the softmax, or weight × length of the value vector.
enum class MapOf : std::uint8_t { weights, scores, values };

}  // namespace headlight

#pragma GCC visibility pop
