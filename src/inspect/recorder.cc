#include "inspect/recorder.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"

namespace headlight::inspect {
namespace {

constexpr Index kRows = 64, kNumbers = 1 << 20;  // rows or weights recomputed at a time

// Whether the mask lets the query see the key; callers check the range of visible keys.
bool unmasked(const AttentionEvent& event, Index head, Index query, Index key) {
  const ConstTensorView& mask = event.options.mask;
  if (mask.empty()) return true;
  return mask.at(0, mask.dim(1) == 1 ? 0 : head, mask.dim(2) == 1 ? 0 : query, mask.dim(3) == 1 ? 0 : key) !=
         0;
}

// The norm of each key's value.
std::vector<double> value_lengths(const AttentionEvent& event, Index head) {
  const Index kv = head / (event.q.dim(1) / event.v.dim(1)), first = event.options.k_starts[0];
  std::vector<double> lengths;
  for (Index j = 0; j < event.keys(0); ++j) {
    double sum = 0;
    for (Index d = 0; d < event.v.dim(3); ++d) {
      const double x = event.v.at(0, kv, first + j, d);
      sum += x * x;
    }
    lengths.push_back(std::sqrt(sum));
  }
  return lengths;
}

// Computes rows of a map, [rows, keys].
class MapRows {
 public:
  MapRows(const AttentionEvent& event, Index head, MapOf of) : event_(event), head_(head), of_(of) {
    if (of == MapOf::values) lengths_ = value_lengths(event, head);
  }
  void read(Range rows) {
    first_ = rows.begin;
    numbers_ = of_ == MapOf::scores ? scores_of(event_, 0, head_, rows, {0, event_.keys(0)})
                                    : event_.weights(0, head_, rows);
  }
  // [keys], valid until the next call.
  [[nodiscard]] const float* row(Index row) {
    const Index keys = event_.keys(0);
    if (of_ == MapOf::weights && numbers_.dtype() == DType::f32)
      return numbers_.as<float>() + (row - first_) * keys;
    buffer_.resize(static_cast<std::size_t>(keys));
    for (Index j = 0; j < keys; ++j) {
      const double x = numbers_.at(row - first_, j);
      const auto at = static_cast<std::size_t>(j);
      buffer_[at] = static_cast<float>(of_ == MapOf::values ? x * lengths_[at] : x);
    }
    return buffer_.data();
  }

 private:
  const AttentionEvent& event_;
  Index head_, first_ = 0;
  MapOf of_;
  Tensor numbers_;
  std::vector<double> lengths_;
  std::vector<float> buffer_;
};

// [heads, tokens, dim] of a view [1, heads, tokens, dim], the first sequence's tokens only.
Tensor first_sequence(ConstTensorView x, Index tokens) {
  Tensor out({x.dim(1), tokens, x.dim(3)}, DType::f32);
  for (Index h = 0; h < x.dim(1); ++h)
    for (Index t = 0; t < tokens; ++t)
      for (Index d = 0; d < x.dim(3); ++d) out.view().set(h, t, d, x.at(0, h, t, d));
  return out;
}

}  // namespace

void MapRecorder::on_attention(const AttentionEvent& event) {
  if (event.part != request_.part) return;
  for (Index head = 0; head < event.q.dim(1); ++head) {
    const HeadPlace place{event.layer, static_cast<int>(head)};
    const auto& wanted = request_.heads;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), place) == wanted.end()) continue;
    maps_.push_back(record(event, head));
  }
}

AttentionMap MapRecorder::record(const AttentionEvent& event, Index head) const {
  const Index queries = event.queries(0), keys = event.keys(0);
  const Range rows = request_.rows.size() > 0 ? request_.rows : Range{0, queries};
  const Range columns = request_.columns.size() > 0 ? request_.columns : Range{0, keys};
  const Index most = request_.most_cells > 0 ? request_.most_cells : std::max(queries, keys);
  const Index by = request_.in_cell > 0
                       ? request_.in_cell
                       : std::max<Index>(1, (std::max(rows.size(), columns.size()) + most - 1) / most);

  AttentionMap map;
  map.part = event.part;
  map.layer = event.layer;
  map.head = static_cast<int>(head);
  map.rows = (rows.size() + by - 1) / by;
  map.columns = (columns.size() + by - 1) / by;
  map.rows_in_cell = map.columns_in_cell = by;
  map.weights.assign(static_cast<std::size_t>(map.rows * map.columns), 0);
  map.visible.assign(map.weights.size(), 0);
  if (request_.of == MapOf::scores) map.derivation = "from q and k";
  if (request_.of == MapOf::values) map.derivation = "weight times the norm of v";
  MapRows numbers(event, head, request_.of);
  const Index at_once = std::max(kRows, kNumbers / std::max<Index>(1, keys));
  for (Index first = rows.begin; first < rows.end; first += at_once) {
    const Range block{first, std::min(rows.end, first + at_once)};
    numbers.read(block);
    for (Index i = block.begin; i < block.end; ++i) {
      const Range seen = event.options.visible.keys_for(i, queries, keys);
      const Index end = std::min(columns.end, seen.end), row = (i - rows.begin) / by * map.columns;
      const float* from = numbers.row(i);
      for (Index j = std::max(columns.begin, seen.begin); j < end;) {
        const Index column = (j - columns.begin) / by,
                    stop = std::min(end, columns.begin + (column + 1) * by);
        const auto cell = static_cast<std::size_t>(row + column);
        for (; j < stop; ++j) {
          if (!unmasked(event, head, i, j)) continue;
          const float x = from[j];
          if (map.visible[cell] == 0 || std::abs(x) > std::abs(map.weights[cell])) map.weights[cell] = x;
          map.visible[cell] = 1;
        }
      }
    }
  }
  if (std::find(map.visible.begin(), map.visible.end(), 0) == map.visible.end()) map.visible.clear();
  return map;
}

void ArrayRecorder::on_attention(const AttentionEvent& event) {
  const std::string base = concat(name_of(event.part), "_", event.layer);
  const Index heads = event.q.dim(1), queries = event.queries(0), keys = event.keys(0);
  const auto each_head = [&](const auto& make) {
    Tensor all({heads, queries, keys}, DType::f32);
    for (Index h = 0; h < heads; ++h) {
      const Tensor one = make(h);
      for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) all.view().set(h, i, j, one.at(i, j));
    }
    return all;
  };
  if (request_.weights) arrays_.push_back({base, each_head([&](Index h) { return event.weights(0, h); })});
  if (request_.scores)
    arrays_.push_back({base + "_scores", each_head([&](Index h) { return scores_of(event, 0, h); })});
  if (request_.q) arrays_.push_back({base + "_q", first_sequence(event.q, queries)});
  if (request_.k) arrays_.push_back({base + "_k", first_sequence(event.k, keys)});
  if (request_.v) arrays_.push_back({base + "_v", first_sequence(event.v, keys)});
  if (request_.z) {
    // The head outputs before the output projection, computed again to the same bits.
    Tensor out({1, heads, event.q.dim(2), event.v.dim(3)}, event.q.dtype());
    attention_forward(event.ctx, event.q, event.k, event.v, event.options, out);
    arrays_.push_back({base + "_z", first_sequence(out, queries)});
  }
}

void ArrayRecorder::on_residual(const ResidualEvent& event) {
  if (!request_.residual) return;
  const Index tokens = event.starts.size() > 1 ? event.starts[1] : event.x.dim(0);
  Tensor x({tokens, event.x.dim(1)}, DType::f32);
  for (Index t = 0; t < tokens; ++t)
    for (Index d = 0; d < event.x.dim(1); ++d) x.view().set(t, d, event.x.at(t, d));
  arrays_.push_back({concat(name_of(event.part), "_", event.layer, "_residual"), std::move(x)});
}

void ExpertsRecorder::on_experts(const ExpertsEvent& event) {
  const Index tokens = event.starts.size() > 1 ? event.starts[1] : event.logits.dim(0);
  const auto n = static_cast<std::ptrdiff_t>(tokens * event.used);
  layers_.push_back({event.part,
                     event.layer,
                     event.used,
                     event.logits.dim(1),
                     {event.experts.begin(), event.experts.begin() + n},
                     {event.weights.begin(), event.weights.begin() + n}});
}

void ArrayRecorder::on_experts(const ExpertsEvent& event) {
  if (!request_.experts) return;
  const std::string base = concat(name_of(event.part), "_", event.layer);
  const Index tokens = event.starts.size() > 1 ? event.starts[1] : event.logits.dim(0);
  Tensor logits({tokens, event.logits.dim(1)}, DType::f32), experts({tokens, event.used}, DType::f32),
      weights({tokens, event.used}, DType::f32);
  for (Index t = 0; t < tokens; ++t) {
    for (Index e = 0; e < logits.dim(1); ++e) logits.view().set(t, e, event.logits.at(t, e));
    for (Index i = 0; i < event.used; ++i) {
      const auto at = static_cast<std::size_t>(t * event.used + i);
      experts.view().set(t, i, event.experts[at]);
      weights.view().set(t, i, event.weights[at]);
    }
  }
  arrays_.push_back({base + "_router", std::move(logits)});
  arrays_.push_back({base + "_experts", std::move(experts)});
  arrays_.push_back({base + "_expert_weights", std::move(weights)});
}

Tensor scores_of(const AttentionEvent& event, Index sequence, Index head) {
  return scores_of(event, sequence, head, {0, event.queries(sequence)}, {0, event.keys(sequence)});
}

Tensor scores_of(const AttentionEvent& event, Index sequence, Index head, Range rows, Range columns) {
  const AttentionOptions& o = event.options;
  const auto s = static_cast<std::size_t>(sequence);
  const Index queries = event.queries(sequence), keys = event.keys(sequence), dim = event.q.dim(3);
  const Index q0 = o.q_starts[s], k0 = o.k_starts[s], kv = head / (event.q.dim(1) / event.k.dim(1));
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));
  Tensor scores({rows.size(), columns.size()}, DType::f32);
  for (Index i = rows.begin; i < rows.end; ++i) {
    const Range seen = o.visible.keys_for(i, queries, keys);
    for (Index j = columns.begin; j < columns.end; ++j) {
      if (j < seen.begin || j >= seen.end || !unmasked(event, head, i, j)) {
        scores.view().set(i - rows.begin, j - columns.begin, -INFINITY);
        continue;
      }
      double x = 0;
      for (Index d = 0; d < dim; ++d) x += event.q.at(0, head, q0 + i, d) * event.k.at(0, kv, k0 + j, d);
      x *= scale;
      if (o.softcap > 0) x = o.softcap * std::tanh(x / o.softcap);
      if (!o.alibi_slopes.empty())
        x -=
            o.alibi_slopes.at(head) * std::abs(static_cast<double>(o.visible.position(i, queries, keys) - j));
      if (!o.bias.empty()) {
        const auto at = [&](int axis, Index place) { return o.bias.dim(axis) == 1 ? Index{0} : place; };
        x += o.bias.at(at(0, sequence), at(1, head), at(2, i), at(3, j));
      }
      scores.view().set(i - rows.begin, j - columns.begin, x);
    }
  }
  return scores;
}

}  // namespace headlight::inspect
