// Sums over rows of weights: the streaming half of head_patterns.h.
#include <algorithm>
#include <cmath>

#include "inspect/head_patterns.h"

namespace headlight::inspect {
namespace {

double weight_of(const PatternRow& row, Index key) {
  return double{row.weights[static_cast<std::size_t>(key)]};
}

}  // namespace

double PlaceCorrelation::value() const {
  const auto n = static_cast<double>(n_);
  const double a = n * xx_ - x_ * x_, b = n * yy_ - y_ * y_;
  return a > 0 && b > 0 ? (n * xy_ - x_ * y_) / std::sqrt(a * b) : 0;
}

void HeadSums::add_spread(const PatternRow& row) {
  double h = 0, far = 0;
  for (Index j = row.keys.begin; j < row.keys.end; ++j) {
    const double w = weight_of(row, j);
    if (w > 0) h -= w * std::log(w);
    far += w * std::abs(static_cast<double>(row.position - j));
    largest = std::max(largest, w);
  }
  const auto n = static_cast<double>(row.keys.size());
  ++rows;
  entropy += h;
  evenness += h / std::log(n);
  distance += far;
  keys += n;
}

void HeadSums::add_self(const PatternRow& row, const PatternTokens& tokens) {
  const Index n = row.keys.size();
  if (n < kLeastKeys) return;
  add_spread(row);
  const double share = 1 / static_cast<double>(n);
  looks_ahead = looks_ahead || row.keys.end > row.position + 1;
  if (row.query >= 2 && row.keys.begin == 0) first.add(weight_of(row, 0), share);

  const Index from = std::max(row.keys.begin, row.position - kMostOffset),
              to = std::min(row.keys.end, row.position + kMostOffset + 1);
  for (Index j = from; j < to; ++j)
    offsets[static_cast<std::size_t>(row.position - j + kMostOffset)].add(weight_of(row, j), share);

  const TokenId here = tokens.ids[static_cast<std::size_t>(row.query)];
  Tally marks, same, after;  // delimiters, earlier copies and the tokens after them, of this row
  for (Index j = row.keys.begin; j < row.keys.end; ++j) {
    const auto key = static_cast<std::size_t>(j);
    if (tokens.is_delimiter[key] != 0) marks.add(weight_of(row, j), share);
    if (j >= row.position) continue;
    if (tokens.ids[key] == here) same.add(weight_of(row, j), share);
    if (j > 0 && tokens.ids[key - 1] == here) after.add(weight_of(row, j), share);
  }
  if (marks.rows > 0 && marks.rows < n) delimiter.add(marks.mass, marks.even);
  if (same.rows > 0) duplicate.add(same.mass, same.even);
  if (after.rows > 0) induction.add(after.mass, after.even);
}

void HeadSums::add_cross(const PatternRow& row, const PatternTokens& queries, const PatternTokens& key_tokens,
                         PlaceCorrelation& places) {
  const Index n = row.keys.size();
  if (n < kLeastKeys) return;
  add_spread(row);
  const double share = 1 / static_cast<double>(n);
  end.add(weight_of(row, row.keys.end - 1), share);
  if (queries.is_delimiter[static_cast<std::size_t>(row.query)] != 0) return;
  // The word with the largest weight, without special tokens.
  std::optional<Index> at;
  for (Index j = row.keys.begin; j < row.keys.end; ++j) {
    const bool counts = key_tokens.is_delimiter[static_cast<std::size_t>(j)] == 0;
    if (counts && (!at || weight_of(row, j) > weight_of(row, *at))) at = j;
  }
  if (!at) return;
  aligned.add(weight_of(row, *at), share);
  places.add(static_cast<double>(row.query), static_cast<double>(*at));
}

void HeadSums::add_places(const PlaceCorrelation& places) {
  if (places.rows() < kLeastRows) return;
  monotone += static_cast<double>(places.rows()) * places.value();
  monotone_rows += places.rows();
}

void HeadSums::add(const HeadSums& other) {
  rows += other.rows;
  entropy += other.entropy;
  evenness += other.evenness;
  distance += other.distance;
  keys += other.keys;
  largest = std::max(largest, other.largest);
  looks_ahead = looks_ahead || other.looks_ahead;
  first.add(other.first);
  delimiter.add(other.delimiter);
  duplicate.add(other.duplicate);
  induction.add(other.induction);
  end.add(other.end);
  aligned.add(other.aligned);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i].add(other.offsets[i]);
  monotone += other.monotone;
  monotone_rows += other.monotone_rows;
}

}  // namespace headlight::inspect
