// Alignment of two texts by word: words in both, and words in one of them.
#pragma once

#include <string>
#include <vector>

#include "inspect/attention_map.h"

namespace headlight::inspect {

struct WordPair {
  Index a = -1, b = -1;  // its place in each list; -1: it is not there
};

// The fewest words left alone or standing opposite another one; equal words are opposite each other. Throws
// Error{resource} for lists whose product is above 2^24.
[[nodiscard]] std::vector<WordPair> align(const std::vector<std::string>& a,
                                          const std::vector<std::string>& b);

// "cat", "cat → dog", "+ very", "- old": what both, each, the second alone, the first alone have there.
[[nodiscard]] std::vector<std::string> aligned_labels(const std::vector<WordPair>& words,
                                                      const std::vector<std::string>& a,
                                                      const std::vector<std::string>& b);

// A map of one of the texts with the rows and columns of both; what it does not have is not visible.
enum class Side { a, b };
[[nodiscard]] AttentionMap aligned(const AttentionMap& map, const std::vector<WordPair>& rows,
                                   const std::vector<WordPair>& columns, Side side);

// How far two maps of one shape are apart: the sum of |b - a| over what both can see.
[[nodiscard]] double distance(const AttentionMap& a, const AttentionMap& b);

}  // namespace headlight::inspect
