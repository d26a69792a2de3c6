// A matrix of weights with its labels: the input of terminal maps and figures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor.h"

namespace headlight::draw {

// exact: the model's own numbers. derived: computed from them, such as a mean over heads. example: not from a model; maps
// show no note.
enum class Origin : std::uint8_t { exact, derived, example };
[[nodiscard]] std::string_view name_of(Origin origin) noexcept;

// Rows are queries ("from"), columns are keys ("to"), always.
struct WeightMap {
  std::string title;       // "layer 2, head 5"
  std::string short_name;  // "2.5", where many maps share a page
  Origin origin = Origin::exact;
  std::string derivation;                  // the computation, if derived: "mean of 8 heads"
  std::vector<std::string> queries, keys;  // a label for each row and column
  std::vector<float> weights;              // [rows, columns], row after row
  std::vector<std::uint8_t> visible;       // the same shape, 0 where the query cannot see the key; empty: all
  std::string masked_words = "not visible";     // meaning of a 0
  bool is_signed = false;                       // a difference, or scores
  Index rows_in_cell = 1, columns_in_cell = 1;  // each cell is the largest of this many
  std::string row_axis = "query (from)", column_axis = "key (to)";
  std::string quantity = {};  // name of the numbers in the legend; empty: weights, or their differences

  [[nodiscard]] Index rows() const noexcept { return static_cast<Index>(queries.size()); }
  [[nodiscard]] Index columns() const noexcept { return static_cast<Index>(keys.size()); }
  [[nodiscard]] bool sees(Index row, Index column) const {
    return visible.empty() || visible[at(row, column)] != 0;
  }
  [[nodiscard]] double weight(Index row, Index column) const { return weights[at(row, column)]; }
  [[nodiscard]] bool has_masked() const;
  [[nodiscard]] bool is_pooled() const noexcept { return rows_in_cell > 1 || columns_in_cell > 1; }
  // "exact", or "derived: mean of 8 heads".
  [[nodiscard]] std::string tag() const;

 private:
  [[nodiscard]] std::size_t at(Index row, Index column) const {
    return static_cast<std::size_t>(row * columns() + column);
  }
};

// Throws Error{usage} if sizes are inconsistent or there is nothing to draw, Error{numeric}
// if a visible number is not finite.
void check(const WeightMap& map);

// The largest visible absolute value; 0 if there is none.
[[nodiscard]] double largest(const WeightMap& map);

// Pools to this many rows and columns, by the largest of each block (of a signed map: the farthest
// from zero), so that a single large weight never disappears. A block is visible if one of its cells is.
struct MapSize {
  Index rows, columns;
};
[[nodiscard]] WeightMap pooled(const WeightMap& map, MapSize limit);

// b - a, cell by cell; a cell is visible if both are. Throws Error{usage} if the shapes differ.
[[nodiscard]] WeightMap difference(const WeightMap& a, const WeightMap& b);

// A label for display: control characters as \n and \x1b, labels of spaces in quotes.
[[nodiscard]] std::string shown(std::string_view label);

}  // namespace headlight::draw
