// One weight of a real model, explained: a page for the terminal, JSON for scripts, a snippet to run elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_input.h"
#include "cli/page.h"
#include "inspect/head_steps.h"

namespace headlight::cli {

enum class Snippet : std::uint8_t { none, numpy, cpp };

struct ExplainStepsSettings : ModelInput {
  std::optional<Part> part;
  std::vector<inspect::HeadPlace> heads;  // one, or none: the head where the query looks hardest at the key
  std::string query, key;
  Snippet as = Snippet::none;
  Index threads = 0;

  // Options that make no sense without a model.
  [[nodiscard]] bool asks_for_model() const {
    return !text.empty() || !ids.empty() || part || !heads.empty() || !key.empty() || as != Snippet::none;
  }
};

struct StepsExplanation {
  const inspect::Subject& subject;
  const inspect::Question& question;
  const Sides& sides;
  const inspect::HeadSteps& steps;
};

[[nodiscard]] std::string steps_text(const StepsExplanation& e, const PageStyle& style);
[[nodiscard]] std::string steps_json(const StepsExplanation& e);
// A program without input that prints the weight: numbers of this run, arithmetic of this model.
[[nodiscard]] std::string steps_snippet(const StepsExplanation& e, Snippet as);

enum class ExplainForm : std::uint8_t { page, json };
void run_explain_steps(const ExplainStepsSettings& settings, ExplainForm form, const PageStyle& style);

}  // namespace headlight::cli
