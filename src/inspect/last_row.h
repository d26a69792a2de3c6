// The attention of the newest token during generation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/loaded_model.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

// One head, or the mean over all heads of a layer.
struct RowChoice {
  Part part = Part::decoder;
  int layer = 0;
  std::optional<int> head = std::nullopt;
};

// The given head, or the mean of the last layer.
[[nodiscard]] RowChoice choose_row(const LoadedModel& loaded, Part part,
                                   const std::optional<HeadPlace>& head);
// "decoder layer 5, mean of 8 heads"
[[nodiscard]] std::string title_of(const RowChoice& choice, const LoadedModel& loaded);

// Keeps the weights of the last query of the first sequence, for the last run only.
class LastRow : public Observer {
 public:
  explicit LastRow(const RowChoice& choice) : choice_(choice) {}
  void on_attention(const AttentionEvent& event) override;
  [[nodiscard]] const std::vector<float>& weights() const noexcept { return weights_; }

 private:
  RowChoice choice_;
  std::vector<float> weights_;
};

}  // namespace headlight::inspect
