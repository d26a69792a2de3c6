// What `headlight ablate` says: the effect of one change, of a sweep over all heads, and each head's direct share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/ablate/settings.h"
#include "cli/page.h"
#include "cli/translate/evaluation.h"
#include "draw/weight_map.h"
#include "inspect/attribution.h"
#include "inspect/effect.h"
#include "inspect/sweep.h"

namespace headlight::cli {

struct BeforeAfter {
  double before = 0, after = 0;
  double error = 0;  // standard error of the difference; 0: not known
  Index count = 0;   // tokens, or sentences
};

// The model in bold, then what is done to it.
void add_heading(Page& page, const std::string& model, const std::string& what);

struct AblateView {
  std::string model, what;
  inspect::Effect effect;
  std::string row_words;
  std::vector<std::string> token_labels;  // of effect.tokens
  std::vector<std::string> row_labels;    // of effect.kl
  bool has_loss = false;                  // of the text itself
  std::string translation_before,
      translation_after;  // none: it does not translate, or was told what to write
  std::optional<BeforeAfter> corpus_loss, bleu;
};
[[nodiscard]] std::string ablate_text(const AblateView& view, const PageStyle& style);
[[nodiscard]] std::string ablate_json(const AblateView& view);

struct SweepView {
  std::string model, what;  // "every head zeroed in turn"
  std::string row_words, token_label;
  double probability = 0;  // of the token, before
  SweepBy by = SweepBy::kl;
  std::vector<inspect::SweptHead> heads;
  std::optional<inspect::MeasuredLoss> task_before;
};
[[nodiscard]] std::string sweep_text(const SweepView& view, const PageStyle& style, Index top);
[[nodiscard]] std::string sweep_json(const SweepView& view);
// A map for each part: layers × heads.
[[nodiscard]] std::vector<draw::WeightMap> sweep_maps(const SweepView& view);

struct AttributionView {
  std::string model, row_words, token_label;
  inspect::Attribution attribution;
};
[[nodiscard]] std::string attribution_text(const AttributionView& view, const PageStyle& style, Index top);
[[nodiscard]] std::string attribution_json(const AttributionView& view);
[[nodiscard]] std::vector<draw::WeightMap> attribution_maps(const AttributionView& view);

}  // namespace headlight::cli
