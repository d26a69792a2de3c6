#include "draw/weight_map.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

[[noreturn]] void refuse(const WeightMap& map, const std::string& what) {
  throw Error(ErrorKind::usage, "draw.map", concat("map \"", escaped(map.title), "\": ", what));
}

// "The … animal" for a block of labels.
std::vector<std::string> block_labels(const std::vector<std::string>& labels, Index in_cell) {
  if (in_cell == 1) return labels;
  std::vector<std::string> blocks;
  const auto step = static_cast<std::size_t>(in_cell);
  for (std::size_t i = 0; i < labels.size(); i += step) {
    const std::size_t last = std::min(labels.size(), i + step) - 1;
    blocks.push_back(i == last ? labels[i] : concat(labels[i], " … ", labels[last]));
  }
  return blocks;
}

}  // namespace

std::string_view name_of(Origin origin) noexcept {
  return origin == Origin::exact ? "exact" : origin == Origin::derived ? "derived" : "";
}

bool WeightMap::has_masked() const { return std::find(visible.begin(), visible.end(), 0) != visible.end(); }

std::string WeightMap::tag() const {
  return derivation.empty() ? std::string(name_of(origin)) : concat(name_of(origin), ": ", derivation);
}

void check(const WeightMap& map) {
  const std::size_t cells = map.queries.size() * map.keys.size();
  if (cells == 0) {
    refuse(map, concat("nothing to draw (", map.rows(), " queries, ", map.columns(), " keys)"));
  }
  if (map.weights.size() != cells) {
    refuse(map, concat(map.rows(), " queries and ", map.columns(), " keys need ", cells, " weights, not ",
                       map.weights.size()));
  }
  if (!map.visible.empty() && map.visible.size() != cells) {
    refuse(map, concat("visibility is given for ", map.visible.size(), " of ", cells, " cells"));
  }
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      if (!map.sees(i, j) || std::isfinite(map.weight(i, j))) continue;
      throw Error(ErrorKind::numeric, "draw.number",
                  concat("map \"", escaped(map.title), "\": the number from query ", i, " (",
                         shown(map.queries[static_cast<std::size_t>(i)]), ") to key ", j, " (",
                         shown(map.keys[static_cast<std::size_t>(j)]), ") is ", map.weight(i, j)));
    }
  }
}

double largest(const WeightMap& map) {
  double top = 0;
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      if (map.sees(i, j)) top = std::max(top, std::abs(map.weight(i, j)));
    }
  }
  return top;
}

WeightMap pooled(const WeightMap& map, MapSize limit) {
  const auto in_cell = [](Index count, Index most) { return std::max<Index>(1, (count + most - 1) / most); };
  const Index tall = in_cell(map.rows(), std::max<Index>(1, limit.rows));
  const Index wide = in_cell(map.columns(), std::max<Index>(1, limit.columns));
  if (tall == 1 && wide == 1) return map;

  WeightMap out = map;
  out.queries = block_labels(map.queries, tall);
  out.keys = block_labels(map.keys, wide);
  out.rows_in_cell *= tall;
  out.columns_in_cell *= wide;
  const auto cells = static_cast<std::size_t>(out.rows() * out.columns());
  out.weights.assign(cells, 0);
  std::vector<std::uint8_t> seen(cells, 0);
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      if (!map.sees(i, j)) continue;
      const auto cell = static_cast<std::size_t>(i / tall * out.columns() + j / wide);
      const auto x = static_cast<float>(map.weight(i, j));
      if (seen[cell] == 0 || std::abs(x) > std::abs(out.weights[cell])) out.weights[cell] = x;
      seen[cell] = 1;
    }
  }
  if (!out.visible.empty()) out.visible = std::move(seen);
  return out;
}

WeightMap difference(const WeightMap& a, const WeightMap& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns()) {
    refuse(a, concat("[", a.rows(), ", ", a.columns(), "] cannot be compared with \"", escaped(b.title),
                     "\", which is [", b.rows(), ", ", b.columns(), "]"));
  }
  WeightMap out = b;
  out.title = "difference";
  out.short_name = "B−A";
  out.origin = Origin::derived;
  out.derivation = "B minus A";
  out.is_signed = true;
  for (std::size_t i = 0; i < out.weights.size(); ++i) out.weights[i] = b.weights[i] - a.weights[i];
  if (!a.visible.empty()) {
    if (out.visible.empty()) out.visible.assign(out.weights.size(), 1);
    for (std::size_t i = 0; i < out.visible.size(); ++i) out.visible[i] &= a.visible[i];
  }
  return out;
}

std::string shown(std::string_view label) {
  const bool blank = label.find_first_not_of(' ') == std::string_view::npos;
  return blank ? concat('"', label, '"') : escaped(label);
}

}  // namespace headlight::draw
