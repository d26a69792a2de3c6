// Output of `headlight ablate`: the effect of one change, of a sweep over all heads, and each head's direct share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/ablate/settings.h"
#include "cli/page.h"
#include "draw/weight_map.h"

namespace headlight::cli {

// The model in bold, then the change.
void add_heading(Page& page, const std::string& model, const std::string& what);

struct AblateView {
  std::string model, what;
  AblationEffect effect;
  std::string row_words;
  std::vector<std::string> token_labels;  // of effect.tokens
  std::vector<std::string> row_labels;    // of effect.kl
  std::optional<Index> cut_sources = {};  // of the test set
};
[[nodiscard]] std::string ablate_text(const AblateView& view, const PageStyle& style);
[[nodiscard]] std::string ablate_json(const AblateView& view);

struct SweepView {
  std::string model, what;  // "every head zeroed in turn"
  std::string row_words, token_label;
  SweepBy by = SweepBy::kl;
  SweepResult result;
};
[[nodiscard]] std::string sweep_text(const SweepView& view, const PageStyle& style, Index top);
[[nodiscard]] std::string sweep_json(const SweepView& view);
// A map for each part: layers × heads.
[[nodiscard]] std::vector<draw::WeightMap> sweep_maps(const SweepView& view);

struct AttributionView {
  std::string model, row_words, token_label;
  Attribution attribution;
};
[[nodiscard]] std::string attribution_text(const AttributionView& view, const PageStyle& style, Index top);
[[nodiscard]] std::string attribution_json(const AttributionView& view);
[[nodiscard]] std::vector<draw::WeightMap> attribution_maps(const AttributionView& view);

}  // namespace headlight::cli
