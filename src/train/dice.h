// Random numbers by position in a run: a resumed run draws the same numbers without replaying earlier draws.
#pragma once

#include <cstdint>

#include "core/dice.h"

namespace headlight::train {

enum class Purpose : std::uint32_t { batches = 1, evaluation, masking, order, dropout, parameters, splits };

class Dice : public headlight::Dice {
 public:
  Dice(std::uint64_t seed, Purpose purpose, std::uint64_t place, std::uint32_t item = 0)
      : headlight::Dice(seed, static_cast<std::uint32_t>(purpose), place, item) {}
};

}  // namespace headlight::train
