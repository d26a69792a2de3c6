// Observers that keep what somebody wants to see of one run, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headlight/head_place.h"
#include "inspect/attention_map.h"

namespace headlight::inspect {

using headlight::HeadPlace;

// Calls an observer with the attention of a run: a new one, or one that was kept.
using Replay = std::function<void(Observer& observer)>;

using headlight::MapOf;

// What to keep. Memory is what the maps take, plus a few rows.
struct MapRequest {
  Part part = Part::decoder;
  std::vector<HeadPlace> heads = {};  // none: all
  Range rows = {0, 0};                // these queries only; none: all
  Range columns = {0, 0};             // these keys only; none: all
  Index most_cells = 0;               // pool maps to at most so many rows and columns; 0: every weight
  Index in_cell = 0;                  // rows and columns pooled into one cell; 0: as many as most_cells needs
  MapOf of = MapOf::weights;
};

// Weights of the first sequence, or what else is asked for.
class MapRecorder : public Observer {
 public:
  explicit MapRecorder(MapRequest request) : request_(std::move(request)) {}
  void on_attention(const AttentionEvent& event) override;
  [[nodiscard]] std::vector<AttentionMap>& maps() noexcept { return maps_; }  // by layer, then by head

 private:
  [[nodiscard]] AttentionMap record(const AttentionEvent& event, Index head) const;
  MapRequest request_;
  std::vector<AttentionMap> maps_;
};

// Arrays of a run by the names that they have as files: "decoder_2" is the weights of layer 2 as [heads, q, k],
// "decoder_2_q" its queries as [heads, q, dim].
struct ArrayRequest {
  bool weights = true, scores = false, q = false, k = false, v = false, z = false, residual = false;
  bool experts =
      false;  // "decoder_2_router" [token, expert], "…_experts" and "…_expert_weights" [token, used]
};
struct NamedArray {
  std::string name;
  Tensor tensor;
};

class ArrayRecorder : public Observer {
 public:
  explicit ArrayRecorder(const ArrayRequest& request) : request_(request) {}
  void on_attention(const AttentionEvent& event) override;
  void on_residual(const ResidualEvent& event) override;
  void on_experts(const ExpertsEvent& event) override;
  [[nodiscard]] std::vector<NamedArray>& arrays() noexcept { return arrays_; }

 private:
  ArrayRequest request_;
  std::vector<NamedArray> arrays_;
};

// Which experts the tokens of the first sequence went to, layer by layer.
struct LayerExperts {
  Part part = Part::decoder;
  int layer = 0;
  Index used = 0, count = 0;          // of each token, of all
  std::vector<std::int32_t> experts;  // [token, used], the largest weight first
  std::vector<double> weights;        // likewise
};
class ExpertsRecorder : public Observer {
 public:
  void on_experts(const ExpertsEvent& event) override;
  [[nodiscard]] const std::vector<LayerExperts>& layers() const noexcept { return layers_; }

 private:
  std::vector<LayerExperts> layers_;
};

// Scores of one head before the softmax, [q, k]; -inf where the query cannot see the key. In float64, then rounded.
[[nodiscard]] Tensor scores_of(const AttentionEvent& event, Index sequence, Index head);
[[nodiscard]] Tensor scores_of(const AttentionEvent& event, Index sequence, Index head, Range queries,
                               Range keys);

}  // namespace headlight::inspect
