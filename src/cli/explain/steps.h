// One weight of a real model, explained: a page for the terminal, JSON for scripts, a snippet to run elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/page.h"
#include "inspect/head_steps.h"

namespace headlight::cli {

enum class Snippet : std::uint8_t { none, numpy, cpp };

struct StepsSettings {
  InputOptions input;
  std::optional<Part> part;
  std::vector<HeadPlace> heads;  // one; none: the head with the largest weight for query and key
  std::string query, key;
  Snippet as = Snippet::none;
  JsonTarget json;
  std::string npy;
  Index threads = 0;

  // Options that make no sense without a model.
  [[nodiscard]] bool asks_for_model() const {
    return input.given() || part || !heads.empty() || !key.empty() || as != Snippet::none || !npy.empty();
  }
};

struct StepsExplanation {
  const Run& run;
  const HeadSteps& steps;
  [[nodiscard]] const TokenizedText& queries() const { return run.queries(steps.request.part); }
  [[nodiscard]] const TokenizedText& keys() const { return run.keys(steps.request.part); }
};

[[nodiscard]] std::string steps_text(const StepsExplanation& e, const PageStyle& style);
[[nodiscard]] std::string steps_json(const StepsExplanation& e);
// A program without input that prints the weight: numbers of this run, arithmetic of this model.
[[nodiscard]] std::string steps_snippet(const StepsExplanation& e, Snippet as);

void run_steps(const StepsSettings& settings, const PageStyle& style);

}  // namespace headlight::cli
