#include "inspect/head_shares.h"

#include <algorithm>

namespace headlight::inspect {

std::vector<HeadShare> all_heads(const LoadedModel& loaded, Part part) {
  std::vector<HeadShare> heads;
  for (Index layer = 0; layer < loaded.layers(part); ++layer)
    for (Index head = 0; head < loaded.heads(part); ++head)
      heads.push_back({{static_cast<int>(layer), static_cast<int>(head)}, {}, {}});
  return heads;
}

void sort_best_first(std::vector<HeadShare>& heads) {
  std::stable_sort(heads.begin(), heads.end(), [](const HeadShare& a, const HeadShare& b) {
    return a.choosing.right > b.choosing.right;
  });
}

}  // namespace headlight::inspect
