#include "session/link_map.h"

#include <algorithm>
#include <string>

#include "core/concat.h"

namespace headlight::session {
namespace {

using inspect::AttentionMap;

std::string layer_name(const AttentionMap& map) { return map.layer >= 0 ? concat(map.layer) : "all"; }
std::string head_name(const AttentionMap& map) { return map.head >= 0 ? concat(map.head) : "mean"; }

Index place_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) - names.begin();
}

}  // namespace

LinkMap link_map(std::span<const AttentionMap> rows, Part part, const inspect::Word& query,
                 const inspect::Word& key) {
  LinkMap made;
  auto& [drawn, numbers] = made;
  drawn.title = concat("from ", query.label, " to ", key.label);
  drawn.row_axis = "layer";
  drawn.column_axis = "head";
  for (const AttentionMap& row : rows) {
    const std::string layer = layer_name(row), head = head_name(row);
    if (drawn.queries.empty() || drawn.queries.back() != layer) drawn.queries.push_back(layer);
    if (std::find(drawn.keys.begin(), drawn.keys.end(), head) == drawn.keys.end()) drawn.keys.push_back(head);
  }
  numbers.part = part;
  numbers.rows = drawn.rows();
  numbers.columns = drawn.columns();
  numbers.weights.assign(static_cast<std::size_t>(numbers.rows * numbers.columns), 0);
  numbers.visible.assign(numbers.weights.size(), 0);
  for (const AttentionMap& row : rows) {
    const auto cell = static_cast<std::size_t>(place_in(drawn.queries, layer_name(row)) * numbers.columns +
                                               place_in(drawn.keys, head_name(row)));
    numbers.weights[cell] = static_cast<float>(inspect::sum_of_keys(row, 0, key.tokens));
    numbers.visible[cell] = 1;
    if (numbers.derivation.empty()) numbers.derivation = row.derivation;
  }
  if (key.tokens.size() > 1)
    numbers.derivation +=
        concat(numbers.derivation.empty() ? "" : ", ", "sum of ", key.tokens.size(), " keys");
  if (std::find(numbers.visible.begin(), numbers.visible.end(), 0) == numbers.visible.end())
    numbers.visible.clear();
  drawn.masked_words = "not asked for";
  drawn.origin = numbers.derivation.empty() ? draw::Origin::exact : draw::Origin::derived;
  drawn.derivation = numbers.derivation;
  drawn.weights = numbers.weights;
  drawn.visible = numbers.visible;
  return made;
}

}  // namespace headlight::session
