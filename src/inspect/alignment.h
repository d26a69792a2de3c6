// Alignment of two texts by word: words in both, and words in one of them.
#pragma once

#include <string>
#include <vector>

#include "inspect/attention_map.h"

namespace headlight::inspect {

struct WordPair {
  Index a = -1, b = -1;  // its index in each list; -1: not in that list
};

// Aligns equal words so that as few words as possible are unpaired or paired with a different word. Throws
// Error{resource} for lists whose product of sizes is above 2^24.
[[nodiscard]] std::vector<WordPair> align(const std::vector<std::string>& a,
                                          const std::vector<std::string>& b);

// Labels: "cat" in both texts, "cat → dog" replaced, "+ very" only in the second, "- old" only in the first.
[[nodiscard]] std::vector<std::string> aligned_labels(const std::vector<WordPair>& words,
                                                      const std::vector<std::string>& a,
                                                      const std::vector<std::string>& b);

// Expands a map of one text to the rows and columns of both; cells that the text lacks are marked not visible.
enum class Side { a, b };
[[nodiscard]] AttentionMap aligned(const AttentionMap& map, const std::vector<WordPair>& rows,
                                   const std::vector<WordPair>& columns, Side side);

// Distance of two maps of one shape: the sum of |b - a| over the cells visible in both.
[[nodiscard]] double distance(const AttentionMap& a, const AttentionMap& b);

}  // namespace headlight::inspect
