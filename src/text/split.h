// Splits words further: at matches of a pattern, or at characters of a kind.
#pragma once

#include <vector>

#include "text/pre_tokenizer.h"

namespace headlight::text {

struct SplitOptions {
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  // matches are the text between the matches
};

// Appends to `out` the ranges into which `found`, which covers one word, splits it under this behavior.
void arrange(const std::vector<Found>& found, SplitBehavior behavior, std::vector<Range>& out);

void split(Words& words, const Finder& finder, const SplitOptions& options);

// Every character for which `is_match` holds is a separate match.
template <class Predicate>
void split_at(Words& words, const Predicate& is_match, SplitBehavior behavior) {
  std::vector<Range> ranges;
  std::vector<Found> found;
  for (const Range word : words.ranges) {
    found.clear();
    for (std::uint32_t at = word.begin; at < word.end;) {
      const Character c = character_at(words.text.text(), at);
      const bool match = is_match(c.code);
      if (!match && !found.empty() && !found.back().match) found.back().range.end = at + c.length;
      else found.push_back({{at, at + c.length}, match});
      at += c.length;
    }
    arrange(found, behavior, ranges);
  }
  words.ranges = std::move(ranges);
}

}  // namespace headlight::text
