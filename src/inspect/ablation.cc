#include "inspect/ablation.h"

#include <algorithm>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight {

std::string_view name_of(Change change) noexcept {
  switch (change) {
    case Change::zero: return "zero";
    case Change::mean: return "mean";
    case Change::scale: return "scale";
    case Change::patch: return "patch";
    case Change::cut_mask: return "cut-mask";
    case Change::cut_weight: return "cut-weight";
  }
  return "?";
}

}  // namespace headlight

namespace headlight::inspect {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::usage, "ablate.plan", concat("ablation: ", what));
}

bool is_cut(Change change) { return change == Change::cut_mask || change == Change::cut_weight; }

bool holds(const Range& range, Index place) { return range.begin <= place && place < range.end; }

// Calls f(token, sequence) for every query of the event.
template <class F>
void for_queries(std::span<const Index> starts, const F& f) {
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    for (Index t = starts[s]; t < starts[s + 1]; ++t) f(t, static_cast<Index>(s));
}

Index longest(std::span<const Index> starts) {
  Index most = 0;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) most = std::max(most, starts[s + 1] - starts[s]);
  return most;
}

}  // namespace

void OutputRecorder::on_heads(const AttentionEvent& event, TensorView z) {
  const Index tokens = event.options.q_starts[1];
  Tensor copy = Tensor::uninitialized({tokens, z.dim(1), z.dim(2)}, z.dtype());
  for (Index t = 0; t < tokens; ++t)
    for (Index h = 0; h < z.dim(1); ++h)
      for (Index d = 0; d < z.dim(2); ++d) copy.view().set(t, h, d, z.at(t, h, d));
  outputs_[{event.part, event.layer}] = std::move(copy);
}

void OutputMeans::on_heads(const AttentionEvent& event, TensorView z) {
  Sum& sum = sums_[{event.part, event.layer}];
  sum.heads = z.dim(1);
  sum.dim = z.dim(2);
  sum.values.resize(static_cast<std::size_t>(sum.heads * sum.dim));
  for (Index t = 0; t < z.dim(0); ++t) {
    std::size_t at = 0;
    for (Index h = 0; h < sum.heads; ++h)
      for (Index d = 0; d < sum.dim; ++d) sum.values[at++] += z.at(t, h, d);
  }
  sum.tokens += z.dim(0);
}

HeadOutputs OutputMeans::means() const {
  HeadOutputs result;
  for (const auto& [place, sum] : sums_) {
    std::vector<double> values = sum.values;
    for (double& value : values) value /= static_cast<double>(std::max<Index>(sum.tokens, 1));
    result[place] = Tensor::from(values, {1, sum.heads, sum.dim});
  }
  return result;
}

Index OutputMeans::tokens(Part part) const {
  const auto found = sums_.find({part, 0});
  return found == sums_.end() ? 0 : found->second.tokens;
}

Ablation::Ablation(ChangePlan plan) : plan_(std::move(plan)) {
  if (plan_.heads.empty()) refuse("no head was selected");
  if ((plan_.change == Change::mean || plan_.change == Change::patch) && plan_.outputs == nullptr)
    refuse(concat(name_of(plan_.change), " needs recorded head outputs; give them as outputs of the plan"));
  if (is_cut(plan_.change) && plan_.links.empty()) refuse("a cut needs a link from a query to a key");
  if (plan_.outputs == nullptr) return;
  for (const HeadPlace& place : plan_.heads) {
    const auto found = plan_.outputs->find({plan_.part, place.layer});
    if (found == plan_.outputs->end() || place.head >= found->second.dim(1))
      refuse(
          concat("no output was recorded for ", name_of(plan_.part), " head ", place.layer, ".", place.head));
  }
}

bool Ablation::concerns(Index position) const {
  return plan_.queries.empty() || std::any_of(plan_.queries.begin(), plan_.queries.end(),
                                              [&](const Range& range) { return holds(range, position); });
}

ConstTensorView Ablation::mask(const AttentionPlace& place) {
  if (plan_.change != Change::cut_mask || place.part != plan_.part) return {};
  std::vector<Index> heads;
  for (const HeadPlace& head : plan_.heads)
    if (head.layer == place.layer) heads.push_back(head.head);
  if (heads.empty()) return {};
  const Index q_len = longest(place.q_starts), k_len = longest(place.k_starts);
  const auto sequences = static_cast<Index>(place.q_starts.size()) - 1;
  mask_ = Tensor::uninitialized({sequences, place.heads, q_len, k_len}, DType::boolean);
  auto* cells = mask_.as<std::uint8_t>();
  std::fill_n(cells, sequences * place.heads * q_len * k_len, std::uint8_t{1});
  for_queries(place.q_starts, [&](Index token, Index sequence) {
    const Index row = token - place.q_starts[static_cast<std::size_t>(sequence)];
    for (const TokenLink& link : plan_.links) {
      if (!holds(link.queries, place.positions[static_cast<std::size_t>(token)])) continue;
      for (const Index head : heads) {
        auto* keys = cells + ((sequence * place.heads + head) * q_len + row) * k_len;
        for (Index j = link.keys.begin; j < std::min(link.keys.end, k_len); ++j) keys[j] = 0;
      }
    }
  });
  return mask_;
}

void Ablation::change_row(const AttentionEvent& event, Index head, Index token, TensorView z) const {
  const Index position = event.positions[static_cast<std::size_t>(token)], dim = z.dim(2);
  if (!concerns(position)) return;
  const Tensor* given = nullptr;
  if (plan_.outputs != nullptr) given = &plan_.outputs->at({plan_.part, event.layer});
  const Index row = plan_.change == Change::mean ? 0 : position;
  if (given != nullptr && row >= given->dim(0)) return;
  for (Index d = 0; d < dim; ++d) {
    switch (plan_.change) {
      case Change::zero: z.set(token, head, d, 0); break;
      case Change::scale: z.set(token, head, d, plan_.factor * z.at(token, head, d)); break;
      case Change::mean:
      case Change::patch:
        if (given != nullptr) z.set(token, head, d, given->at(row, head, d));
        break;
      case Change::cut_mask:
      case Change::cut_weight: break;
    }
  }
}

// The weighted sum of the values without the cut link.
void Ablation::cut_weights(const AttentionEvent& event, Index head, TensorView z) const {
  const Index kv = head / (event.q.dim(1) / event.v.dim(1));
  for_queries(event.options.q_starts, [&](Index token, Index sequence) {
    const Index row = token - event.options.q_starts[static_cast<std::size_t>(sequence)];
    for (const TokenLink& link : plan_.links) {
      if (!holds(link.queries, event.positions[static_cast<std::size_t>(token)])) continue;
      const Tensor weights = event.weights(sequence, head, {row, row + 1});
      const Index first = event.options.k_starts[static_cast<std::size_t>(sequence)];
      for (Index d = 0; d < z.dim(2); ++d) {
        double sum = z.at(token, head, d);
        for (Index j = link.keys.begin; j < std::min(link.keys.end, weights.dim(1)); ++j)
          sum -= weights.at(Index{0}, j) * event.v.at(Index{0}, kv, first + j, d);
        z.set(token, head, d, sum);
      }
    }
  });
}

void Ablation::on_heads(const AttentionEvent& event, TensorView z) {
  if (event.part != plan_.part || plan_.change == Change::cut_mask) return;
  for (const HeadPlace& place : plan_.heads) {
    if (place.layer != event.layer) continue;
    if (plan_.change == Change::cut_weight) cut_weights(event, place.head, z);
    else
      for (Index t = 0; t < z.dim(0); ++t) change_row(event, place.head, t, z);
  }
}

std::vector<HeadPlace> all_heads(Index layers, Index heads) {
  std::vector<HeadPlace> places;
  for (int layer = 0; layer < layers; ++layer)
    for (int head = 0; head < heads; ++head) places.push_back({layer, head});
  return places;
}

}  // namespace headlight::inspect
