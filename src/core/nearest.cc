#include "core/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/concat.h"
#include "core/escape.h"

namespace headlight {
namespace {

// Letters to insert, delete, replace, or swap with their neighbour. Three rows of the table are enough.
class Edits {
 public:
  std::size_t between(std::string_view a, std::string_view b) {
    for (std::vector<std::size_t>* row : {&two_above_, &above_, &row_}) row->resize(b.size() + 1);
    std::iota(row_.begin(), row_.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
      two_above_.swap(above_);
      above_.swap(row_);
      row_[0] = i + 1;
      for (std::size_t j = 0; j < b.size(); ++j) {
        row_[j + 1] = std::min({row_[j] + 1, above_[j + 1] + 1, above_[j] + (a[i] == b[j] ? 0 : 1)});
        if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
          row_[j + 1] = std::min(row_[j + 1], two_above_[j - 1] + 1);
      }
    }
    return row_[b.size()];
  }

 private:
  std::vector<std::size_t> two_above_, above_, row_;
};

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 256, kMost = 4096;
  if (name.size() > kLongest) return {};
  std::string_view best;
  std::size_t least = 0;
  Edits edits;
  for (const std::string_view candidate : known.first(std::min(known.size(), kMost))) {
    if (candidate.size() > kLongest || candidate.empty()) continue;
    const std::size_t distance = edits.between(name, candidate);
    if (distance >= std::max(name.size(), candidate.size())) continue;
    if (best.empty() || distance < least) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

std::string_view nearest_typed_name(std::string_view name, std::span<const std::string_view> known) {
  const std::size_t letter = name.find_first_not_of('-');
  std::string_view longer;
  for (const std::string_view candidate : known)
    if (letter < name.size() && candidate.starts_with(name) &&
        (longer.empty() || candidate.size() < longer.size()))
      longer = candidate;
  if (!longer.empty()) return longer;
  const std::string_view close = nearest_name(name, known);
  const bool starts_alike =
      letter < close.size() && close.substr(0, letter + 1) == name.substr(0, letter + 1);
  return starts_alike ? close : std::string_view();
}

std::string unknown_name_text(std::string_view kind, std::string_view name,
                              std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 60;
  const std::string_view close = nearest_typed_name(name, known);
  std::string text = concat("no ", kind, " \"", escaped(name, kLongest), "\"");
  if (!close.empty()) text += concat("; did you mean \"", close, "\"?\nThere are: ");
  else text += "; there are: ";
  for (std::size_t i = 0; i < known.size(); ++i) text += concat(i == 0 ? "" : ", ", known[i]);
  return text;
}

}  // namespace headlight
