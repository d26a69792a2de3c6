#include "core/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace headlight {
namespace {

// Letters to insert, delete or replace. One row of the table is enough.
std::size_t edits(std::string_view a, std::string_view b, std::vector<std::size_t>& row) {
  row.resize(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 256, kMost = 4096;
  if (name.size() > kLongest) return {};
  std::string_view best;
  std::size_t least = 0;
  std::vector<std::size_t> row;
  for (const std::string_view candidate : known.first(std::min(known.size(), kMost))) {
    if (candidate.size() > kLongest || candidate.empty()) continue;
    const std::size_t distance = edits(name, candidate, row);
    if (distance >= std::max(name.size(), candidate.size())) continue;
    if (best.empty() || distance < least) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

}  // namespace headlight
