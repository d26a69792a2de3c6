// Observers that keep requested parts of one run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headlight/head_place.h"
#include "inspect/attention_map.h"

namespace headlight::inspect {

using headlight::HeadPlace;

// Calls an observer with the attention of a run, either a new run or a recorded one.
using Replay = std::function<void(Observer& observer)>;

using headlight::MapOf;

// The maps to keep. Memory use is that of the maps plus a few rows.
struct MapRequest {
  Part part = Part::decoder;
  std::vector<HeadPlace> heads = {};  // empty: all
  Range rows = {0, 0};                // these queries; empty: all
  Range columns = {0, 0};             // these keys; empty: all
  Index most_cells = 0;               // pool maps to at most so many rows and columns; 0: keep every weight
  Index in_cell = 0;                  // rows and columns pooled into one cell; 0: as many as most_cells needs
  MapOf of = MapOf::weights;
};

// Maps of the first sequence: weights, or another quantity of the request.
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

// Arrays of a run by their file names: "decoder_2" holds the weights of layer 2 as [heads, q, k], "decoder_2_q" its queries
// as [heads, q, dim].
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

// The experts used for the tokens of the first sequence, by layer.
struct LayerExperts {
  Part part = Part::decoder;
  int layer = 0;
  Index used = 0, count = 0;          // experts per token, and in total
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
