// A map of attention weights, and operations on maps: means, rollout, merging tokens into words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headlight/trace.h"
#include "inspect/encoded_text.h"

namespace headlight::inspect {

struct AttentionMap {
  Part part = Part::decoder;
  int layer = -1, head = -1;  // -1: combines several
  std::string derivation =
      {};  // how it was computed from the model's weights; empty: the model's own weights
  Index rows = 0, columns = 0;
  Index rows_in_cell = 1, columns_in_cell = 1;  // a cell is the largest of so many weights
  std::vector<float> weights = {};              // [rows, columns]
  std::vector<std::uint8_t> visible = {};       // 0 where the query cannot see the key; empty: all visible

  [[nodiscard]] float at(Index row, Index column) const {
    return weights[static_cast<std::size_t>(row * columns + column)];
  }
  [[nodiscard]] bool sees(Index row, Index column) const {
    return visible.empty() || visible[static_cast<std::size_t>(row * columns + column)] != 0;
  }
};

// The mean of maps of one shape. Throws Error{usage} if there is none.
[[nodiscard]] AttentionMap mean_of(std::span<const AttentionMap> maps, const std::string& derivation);

// Attention rollout (Abnar and Zuidema, 2020): the product over layers of (mean over heads + identity) / 2. `layers` are
// square means over heads, first layer first.
[[nodiscard]] AttentionMap rollout_of(std::span<const AttentionMap> layers);

// One row: the mean of some queries. One column of each row: the sum over some keys.
[[nodiscard]] AttentionMap mean_row(const AttentionMap& map, Range queries);
[[nodiscard]] double sum_of_keys(const AttentionMap& map, Index row, Range keys);

// Words in place of tokens: rows are averaged, columns summed, so that rows still sum to one.
[[nodiscard]] AttentionMap by_words(const AttentionMap& map, std::span<const Word> queries,
                                    std::span<const Word> keys);

// Leaves cells out and keeps the values of the others. `self`: each token's weight on itself; `first`: weights on the first
// token; `columns`: indices of keys.
struct LeaveOut {
  bool self = false, first = false;
  std::vector<Index> columns = {};
};
void leave_out(AttentionMap& map, const LeaveOut& what, Index first_row = 0);
// Divides each row by its sum, so that rows sum to 1 again. Rows of zeros stay zero.
void renormalize(AttentionMap& map);

// How selective a head is: the mean over rows of the largest weight, not counting the token itself and the first key. Rows
// that see fewer than three keys are skipped.
[[nodiscard]] double focus_of(const AttentionMap& map);

}  // namespace headlight::inspect
