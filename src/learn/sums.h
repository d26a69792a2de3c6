// Vectors of the worked chapters, and sums written out term by term.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draw/weight_map.h"
#include "headlight/tensor.h"

namespace headlight::learn {

using Vector = std::vector<double>;

[[nodiscard]] double dot(std::span<const double> a, std::span<const double> b);
[[nodiscard]] double length(std::span<const double> a);
[[nodiscard]] double distance(std::span<const double> a, std::span<const double> b);
[[nodiscard]] Vector plus(std::span<const double> a, std::span<const double> b);
// The sum of rows, each multiplied by its weight.
[[nodiscard]] Vector weighted_sum(std::span<const double> weights, const std::vector<Vector>& rows);
// x · W, where W has a row for each number of x.
[[nodiscard]] Vector times(std::span<const double> x, const std::vector<Vector>& matrix);
// Layer norm without gain and bias: minus the mean, divided by the deviation.
[[nodiscard]] Vector normalized(std::span<const double> x);

[[nodiscard]] Vector row_of(const Tensor& matrix, Index row);
[[nodiscard]] std::vector<Vector> rows_of(const Tensor& matrix);

// "0.55": as few decimals as the number has, at most `most`.
[[nodiscard]] std::string short_number(double x, int most = 4);
// "(0.55, 0.87, 0.66)"
[[nodiscard]] std::string tuple(std::span<const double> x, int decimals);
[[nodiscard]] std::string short_tuple(std::span<const double> x);
// "0.55×0.57 + 0.87×0.85 + 0.66×0.64"
[[nodiscard]] std::string products(std::span<const double> a, std::span<const double> b);
// A heading row of words, and rows of numbers with 4 decimals.
struct NumberRow {
  std::string name;
  Vector numbers;
};
[[nodiscard]] std::string number_table(std::span<const std::string> words, std::span<const NumberRow> rows);
// The index of the largest number.
[[nodiscard]] std::size_t argmax(std::span<const double> x);

// A map of numbers for the pictures.
struct MapText {
  std::string title, quantity;
  std::vector<std::string> rows, columns;
};
[[nodiscard]] draw::WeightMap map_of(const MapText& text, const std::vector<Vector>& numbers);
// With axes other than queries and keys, which chapter 5 introduces.
[[nodiscard]] draw::WeightMap named(draw::WeightMap map, std::string row_axis, std::string column_axis);

}  // namespace headlight::learn
