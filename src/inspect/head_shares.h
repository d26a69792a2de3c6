// How often each head of a part was right, on the half of the items that chooses and on the half that scores.
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

// Nothing asked yet; layer after layer.
[[nodiscard]] std::vector<HeadShare> all_heads(const LoadedModel& loaded, Part part);
// The head with the most right choices on the choosing half first; of equals the first in the model.
void sort_best_first(std::vector<HeadShare>& heads);

}  // namespace headlight::inspect
