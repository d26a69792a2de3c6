// An observer that measures the patterns of every head of a run, a few rows of exact weights at a time.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "core/team.h"
#include "inspect/head_patterns.h"
#include "inspect/model_run.h"
#include "inspect/recorder.h"
#include "inspect/sides.h"

namespace headlight::inspect {

// Special tokens are the added ones and those that the tokenizer marks as special.
[[nodiscard]] PatternTokens pattern_tokens(const EncodedText& encoded, const LoadedModel& loaded);

// Sums of all heads of a model, by part; parts that the model lacks are empty.
struct ModelSums {
  explicit ModelSums(const LoadedModel& loaded);
  [[nodiscard]] std::vector<HeadSums>& of(Part part) { return parts_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] const std::vector<HeadSums>& of(Part part) const {
    return parts_[static_cast<std::size_t>(part)];
  }
  void add(const ModelSums& other);
  // Serialization, so that one process can add the sums of another.
  [[nodiscard]] Bytes bytes() const;
  void set(std::span<const std::byte> bytes);

 private:
  std::array<std::vector<HeadSums>, 3> parts_;  // layer after layer
};

// Adds one run to sums over several runs.
class HeadMeter : public Observer {
 public:
  HeadMeter(const LoadedModel& loaded, const ModelInput& input, ModelSums& sums);
  void on_attention(const AttentionEvent& event) override;

 private:
  struct SideTokens {
    PatternTokens queries, keys;
  };
  std::array<SideTokens, 3> tokens_;  // of each part
  ModelSums& sums_;
};

// Calls `visit` for rows of one head of the first sequence, in order. Its arguments are valid only during the call. Memory is
// a few rows, however long the text is.
using VisitRow = std::function<void(const PatternRow&)>;
void for_each_row(const AttentionEvent& event, Index head, Range rows, const VisitRow& visit);
void for_each_row(const AttentionEvent& event, Index head, const VisitRow& visit);  // all rows

}  // namespace headlight::inspect
