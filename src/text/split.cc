#include "text/split.h"

#include <algorithm>

namespace headlight::text {
namespace {

// A match joins the piece before it, unless that piece is a joined match or a separate one.
void merge_with_previous(const std::vector<Found>& found, std::vector<Range>& out, std::size_t first) {
  bool previous = false;
  for (const auto& [range, match] : found) {
    if (match && !previous && out.size() > first) out.back().end = range.end;
    else out.push_back(range);
    previous = match;
  }
}

void merge_with_next(const std::vector<Found>& found, std::vector<Range>& out, std::size_t first) {
  bool next = false;
  for (auto it = found.rbegin(); it != found.rend(); ++it) {
    if (it->match && !next && out.size() > first) out.back().begin = it->range.begin;
    else out.push_back(it->range);
    next = it->match;
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

void merge_contiguous(const std::vector<Found>& found, std::vector<Range>& out, std::size_t first) {
  bool previous = false;
  for (const auto& [range, match] : found) {
    if (match == previous && out.size() > first) out.back().end = range.end;
    else out.push_back(range);
    previous = match;
  }
}

}  // namespace

void arrange(const std::vector<Found>& found, SplitBehavior behavior, std::vector<Range>& out) {
  const std::size_t first = out.size();
  switch (behavior) {
    case SplitBehavior::removed:
      for (const Found& piece : found)
        if (!piece.match) out.push_back(piece.range);
      break;
    case SplitBehavior::isolated:
      for (const Found& piece : found) out.push_back(piece.range);
      break;
    case SplitBehavior::merged_with_previous: merge_with_previous(found, out, first); break;
    case SplitBehavior::merged_with_next: merge_with_next(found, out, first); break;
    case SplitBehavior::contiguous: merge_contiguous(found, out, first); break;
  }
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(first);
  out.erase(std::remove_if(begin, out.end(), [](Range r) { return r.size() == 0; }), out.end());
}

void split(Words& words, const Finder& finder, const SplitOptions& options) {
  std::vector<Range> ranges;
  ranges.reserve(words.ranges.size() + words.text.size() / 6);
  std::vector<Found> found;
  for (const Range word : words.ranges) {
    found.clear();
    finder.find(words.text.text(), word, found);
    if (options.invert)
      for (Found& piece : found) piece.match = !piece.match;
    arrange(found, options.behavior, ranges);
  }
  words.ranges = std::move(ranges);
}

}  // namespace headlight::text
