// One head's weights as numbers, and what can be made of several: means, rollout, words in place of tokens.
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
  int layer = -1, head = -1;  // -1: of several
  std::string derivation =
      {};  // how it was computed from the model's numbers; empty: they are the model's own
  Index rows = 0, columns = 0;
  Index rows_in_cell = 1, columns_in_cell = 1;  // each cell is the largest weight of so many
  std::vector<float> weights = {};              // [rows, columns]
  std::vector<std::uint8_t> visible = {};       // 0 where the query cannot see the key; empty: everywhere 1

  [[nodiscard]] float at(Index row, Index column) const {
    return weights[static_cast<std::size_t>(row * columns + column)];
  }
  [[nodiscard]] bool sees(Index row, Index column) const {
    return visible.empty() || visible[static_cast<std::size_t>(row * columns + column)] != 0;
  }
};

// All of one shape. Throws Error{usage} when there is none.
[[nodiscard]] AttentionMap mean_of(std::span<const AttentionMap> maps, const std::string& derivation);

// Where the last layer's tokens come from when attention is followed down through the layers: the product of
// (mean over heads + identity) / 2 (Abnar and Zuidema, 2020). `layers` are means, first layer first, and square.
[[nodiscard]] AttentionMap rollout_of(std::span<const AttentionMap> layers);

// One row: the mean of some queries. One column of each row: the sum over some keys.
[[nodiscard]] AttentionMap mean_row(const AttentionMap& map, Range queries);
[[nodiscard]] double sum_of_keys(const AttentionMap& map, Index row, Range keys);

// Words in place of tokens: rows are averaged, columns summed, so that rows still sum to one.
[[nodiscard]] AttentionMap by_words(const AttentionMap& map, std::span<const Word> queries,
                                    std::span<const Word> keys);

// Some cells left out: what is left keeps its value. `self`: a token's weight on itself; `first`: on the first token;
// `columns`: keys, by their place.
struct LeaveOut {
  bool self = false, first = false;
  std::vector<Index> columns = {};
};
void leave_out(AttentionMap& map, const LeaveOut& what, Index first_row = 0);
// What is left of each row, divided by its sum: rows sum to 1 again. Rows of zeros stay.
void renormalize(AttentionMap& map);

// How much a head makes choices: the mean over rows of their largest weight, on itself and on the first key not
// counted. Rows that see fewer than three keys have no choice.
[[nodiscard]] double focus_of(const AttentionMap& map);

}  // namespace headlight::inspect
