#include "learn/sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lab/arithmetic.h"

namespace headlight::learn {

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double length(std::span<const double> a) { return std::sqrt(dot(a, a)); }

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

Vector plus(std::span<const double> a, std::span<const double> b) {
  Vector out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += b[i];
  return out;
}

Vector weighted_sum(std::span<const double> weights, const std::vector<Vector>& rows) {
  Vector out(rows.at(0).size(), 0.0);
  for (std::size_t j = 0; j < rows.size(); ++j)
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += weights[j] * rows[j][d];
  return out;
}

Vector times(std::span<const double> x, const std::vector<Vector>& matrix) { return weighted_sum(x, matrix); }

Vector normalized(std::span<const double> x) {
  const auto count = static_cast<double>(x.size());
  const double mean = lab::sum_of(x) / count;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / count;
  Vector out;
  for (const double value : x) out.push_back((value - mean) / std::sqrt(variance));
  return out;
}

Vector row_of(const Tensor& matrix, Index row) {
  Vector out;
  for (Index j = 0; j < matrix.dim(1); ++j) out.push_back(matrix.at(row, j));
  return out;
}

std::vector<Vector> rows_of(const Tensor& matrix) {
  std::vector<Vector> rows;
  for (Index i = 0; i < matrix.dim(0); ++i) rows.push_back(row_of(matrix, i));
  return rows;
}

std::string short_number(double x, int most) {
  std::string text = fmt::format("{:.{}f}", x, most);
  while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
    const bool point = text.back() == '.';
    text.pop_back();
    if (point) break;
  }
  return text == "-0" ? "0" : text;
}

std::string tuple(std::span<const double> x, int decimals) {
  std::string text = lab::digits(x, decimals);
  for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 2))
    text.replace(at, 1, ", ");
  return "(" + text + ")";
}

std::string short_tuple(std::span<const double> x) {
  std::string text;
  for (const double value : x) text += (text.empty() ? "" : ", ") + short_number(value);
  return "(" + text + ")";
}

std::string products(std::span<const double> a, std::span<const double> b) {
  std::string text;
  for (std::size_t i = 0; i < a.size(); ++i)
    text += fmt::format("{}{}×{}", i > 0 ? " + " : "", short_number(a[i]), short_number(b[i]));
  return text;
}

std::string number_table(std::span<const std::string> words, std::span<const NumberRow> rows) {
  std::size_t name = 0;
  for (const NumberRow& row : rows) name = std::max(name, row.name.size());
  std::string text(name, ' ');
  for (const std::string& word : words) text += fmt::format(" {:>8}", word);
  text += '\n';
  for (const NumberRow& row : rows) {
    text += fmt::format("{:<{}}", row.name, name);
    for (const double x : row.numbers) text += fmt::format(" {:>8.4f}", x);
    text += '\n';
  }
  return text;
}

std::size_t argmax(std::span<const double> x) {
  return static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

draw::WeightMap map_of(const MapText& text, const std::vector<Vector>& numbers) {
  draw::WeightMap map;
  map.title = text.title;
  map.origin = draw::Origin::example;
  map.quantity = text.quantity;
  map.queries = text.rows;
  map.keys = text.columns;
  for (const Vector& row : numbers)
    for (const double x : row) map.weights.push_back(static_cast<float>(x));
  return map;
}

draw::WeightMap named(draw::WeightMap map, std::string row_axis, std::string column_axis) {
  map.row_axis = std::move(row_axis);
  map.column_axis = std::move(column_axis);
  return map;
}

}  // namespace headlight::learn
