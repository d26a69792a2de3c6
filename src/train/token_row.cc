#include "train/token_row.h"

#include <algorithm>

namespace headlight::train {

void TokenRow::append(std::shared_ptr<const TokenFile> file, Index begin, Index end) {
  if (begin == end) return;
  parts_.push_back({std::move(file), begin, size() + end - begin});
}

TokenRow TokenRow::split_off(Index first) {
  TokenRow rest;
  std::vector<Part> kept;
  Index at = 0;
  for (const Part& part : parts_) {
    const Index cut = std::clamp(first, at, part.row_end);
    rest.append(part.file, part.begin + cut - at, part.begin + part.row_end - at);
    if (cut > at) kept.push_back({part.file, part.begin, cut});
    at = part.row_end;
  }
  parts_ = std::move(kept);
  if (!ids_.empty()) {
    rest.ids_.assign(ids_.begin() + first, ids_.end());
    ids_.resize(static_cast<std::size_t>(first));
  }
  return rest;
}

Index TokenRow::size() const noexcept {
  return parts_.empty() ? static_cast<Index>(ids_.size()) : parts_.back().row_end;
}

void TokenRow::read(Index first, std::span<TokenId> to) const {
  if (parts_.empty()) {
    std::copy_n(ids_.begin() + first, to.size(), to.begin());
    return;
  }
  auto part = std::upper_bound(parts_.begin(), parts_.end(), first,
                               [](Index place, const Part& p) { return place < p.row_end; });
  while (!to.empty()) {
    const Index begin = part == parts_.begin() ? 0 : std::prev(part)->row_end;
    const Index n = std::min(part->row_end - first, static_cast<Index>(to.size()));
    part->file->read(part->begin + first - begin, to.first(static_cast<std::size_t>(n)));
    to = to.subspan(static_cast<std::size_t>(n));
    first += n;
    ++part;
  }
}

}  // namespace headlight::train
