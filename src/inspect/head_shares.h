// How often each head of a part was right, on the half of the items that selects heads and on the half that scores them.
#pragma once

#include <vector>

#include "inspect/intervals.h"
#include "inspect/loaded_model.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

struct HeadShare {
  HeadPlace place;
  Share choosing, scoring;
  [[nodiscard]] Share& of(Half half) { return half == Half::choosing ? choosing : scoring; }
};

// Empty counts for all heads, by layer.
[[nodiscard]] std::vector<HeadShare> all_heads(const LoadedModel& loaded, Part part);
// Heads by right choices on the selecting half, most first; equals in the order of the model.
void sort_best_first(std::vector<HeadShare>& heads);

}  // namespace headlight::inspect
