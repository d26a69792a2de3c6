#include "inspect/attention_map.h"

#include <algorithm>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::inspect {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "inspect.map", what); }

AttentionMap empty_like(const AttentionMap& map, Index rows, Index columns) {
  AttentionMap out;
  out.part = map.part;
  out.layer = map.layer;
  out.head = map.head;
  out.derivation = map.derivation;
  out.rows = rows;
  out.columns = columns;
  out.weights.assign(static_cast<std::size_t>(rows * columns), 0);
  if (!map.visible.empty()) out.visible.assign(out.weights.size(), 0);
  return out;
}

std::string joined(const std::string& first, std::string_view second) {
  return first.empty() ? std::string(second) : concat(first, ", ", second);
}

}  // namespace

AttentionMap mean_of(std::span<const AttentionMap> maps, const std::string& derivation) {
  if (maps.empty()) refuse("no map to average; give at least one");
  AttentionMap out = maps[0];
  for (const AttentionMap& map : maps) {
    if (map.rows != out.rows || map.columns != out.columns) refuse("maps to average must have the same size");
    if (map.layer != out.layer) out.layer = -1;
  }
  out.head = -1;
  out.derivation = derivation;
  // A key is visible if it is visible in one of the maps.
  for (const AttentionMap& map : maps) {
    if (map.visible.empty()) out.visible.clear();
    for (std::size_t i = 0; i < out.visible.size(); ++i)
      if (map.visible[i] != 0) out.visible[i] = 1;
  }
  for (std::size_t i = 0; i < out.weights.size(); ++i) {
    double sum = 0;
    for (const AttentionMap& map : maps) sum += map.weights[i];
    out.weights[i] = static_cast<float>(sum / static_cast<double>(maps.size()));
  }
  return out;
}

AttentionMap rollout_of(std::span<const AttentionMap> layers) {
  if (layers.empty()) refuse("no layer for the rollout; give at least one");
  const Index n = layers[0].rows;
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> product(size * size, 0), next(size * size);
  for (std::size_t i = 0; i < size; ++i) product[i * size + i] = 1;
  for (const AttentionMap& map : layers) {
    if (map.rows != n || map.columns != n)
      refuse("a rollout needs square maps of one size, so only self-attention has one");
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < size; ++k) {
        const double step = 0.5 * map.weights[i * size + k] + (i == k ? 0.5 : 0.0);
        if (step == 0) continue;
        for (std::size_t j = 0; j < size; ++j) next[i * size + j] += step * product[k * size + j];
      }
    }
    product.swap(next);
  }
  AttentionMap out = layers.back();
  out.layer = -1;
  out.head = -1;
  out.derivation = concat("rollout over ", layers.size(), layers.size() == 1 ? " layer" : " layers");
  for (std::size_t i = 0; i < product.size(); ++i) out.weights[i] = static_cast<float>(product[i]);
  return out;
}

AttentionMap mean_row(const AttentionMap& map, Range queries) {
  AttentionMap out = empty_like(map, 1, map.columns);
  for (Index j = 0; j < map.columns; ++j) {
    double sum = 0;
    bool seen = false;
    for (Index i = queries.begin; i < queries.end; ++i) {
      sum += map.at(i, j);
      seen = seen || map.sees(i, j);
    }
    out.weights[static_cast<std::size_t>(j)] = static_cast<float>(sum / static_cast<double>(queries.size()));
    if (!out.visible.empty()) out.visible[static_cast<std::size_t>(j)] = seen ? 1 : 0;
  }
  if (queries.size() > 1)
    out.derivation = joined(map.derivation, concat("mean of ", queries.size(), " queries"));
  return out;
}

double sum_of_keys(const AttentionMap& map, Index row, Range keys) {
  double sum = 0;
  for (Index j = keys.begin; j < keys.end; ++j) {
    if (map.sees(row, j)) sum += map.at(row, j);
  }
  return sum;
}

AttentionMap by_words(const AttentionMap& map, std::span<const Word> queries, std::span<const Word> keys) {
  AttentionMap out = empty_like(map, static_cast<Index>(queries.size()), static_cast<Index>(keys.size()));
  for (Index i = 0; i < out.rows; ++i) {
    const Range from = queries[static_cast<std::size_t>(i)].tokens;
    for (Index j = 0; j < out.columns; ++j) {
      const Range to = keys[static_cast<std::size_t>(j)].tokens;
      double sum = 0;
      bool seen = false;
      for (Index r = from.begin; r < from.end; ++r) {
        sum += sum_of_keys(map, r, to);
        for (Index c = to.begin; c < to.end; ++c) seen = seen || map.sees(r, c);
      }
      const auto cell = static_cast<std::size_t>(i * out.columns + j);
      out.weights[cell] = static_cast<float>(sum / static_cast<double>(from.size()));
      if (!out.visible.empty()) out.visible[cell] = seen ? 1 : 0;
    }
  }
  if (out.rows < map.rows || out.columns < map.columns)
    out.derivation = joined(map.derivation, "tokens merged into words");
  return out;
}

void leave_out(AttentionMap& map, const LeaveOut& what, Index first_row) {
  if (!what.self && !what.first && what.columns.empty()) return;
  if (map.visible.empty()) map.visible.assign(map.weights.size(), 1);
  for (Index i = 0; i < map.rows; ++i) {
    const Index self = i + first_row;
    if (what.first && map.columns > 0) map.visible[static_cast<std::size_t>(i * map.columns)] = 0;
    if (what.self && map.part != Part::cross && self < map.columns)
      map.visible[static_cast<std::size_t>(i * map.columns + self)] = 0;
    for (const Index j : what.columns) map.visible[static_cast<std::size_t>(i * map.columns + j)] = 0;
  }
}

void renormalize(AttentionMap& map) {
  for (Index i = 0; i < map.rows; ++i) {
    double sum = 0;
    for (Index j = 0; j < map.columns; ++j) sum += map.sees(i, j) ? double{map.at(i, j)} : 0.0;
    if (sum <= 0) continue;
    for (Index j = 0; j < map.columns; ++j) {
      float& weight = map.weights[static_cast<std::size_t>(i * map.columns + j)];
      if (map.sees(i, j)) weight = static_cast<float>(weight / sum);
    }
  }
  map.derivation += map.derivation.empty() ? "renormalized" : ", renormalized";
}

double focus_of(const AttentionMap& map) {
  double sum = 0;
  Index counted = 0;
  for (Index i = 0; i < map.rows; ++i) {
    Index seen = 0;
    float top = 0;
    for (Index j = 0; j < map.columns; ++j) {
      if (!map.sees(i, j)) continue;
      ++seen;
      const bool is_self = map.part != Part::cross && i == j;
      if (j > 0 && !is_self) top = std::max(top, map.at(i, j));
    }
    if (seen < 3) continue;
    sum += top;
    ++counted;
  }
  return counted > 0 ? sum / static_cast<double>(counted) : 0;
}

}  // namespace headlight::inspect
