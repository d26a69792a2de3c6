// Options of `headlight ablate`, resolved for a model and a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/figures.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "headlight/ablate.h"

namespace headlight::cli {

enum class SweepBy : std::uint8_t { kl, token, loss, direct };

struct AblateSettings {
  InputOptions input;
  FigureOptions figures;
  std::optional<Part> part;
  std::optional<Index> layer;
  std::vector<HeadPlace> heads;
  std::string edge, patch, at, position, token;
  std::optional<Change> with;  // zero or mean
  std::optional<Change> cut;   // cut_mask or cut_weight
  std::optional<double> scale;
  std::string mean_over, corpus, evaluate;
  bool sweep = false, attribute = false;
  std::optional<SweepBy> by;
  std::optional<Index> limit;
  Index top = 5, threads = 0;
  Color color = Color::automatic;
  JsonTarget json;
  std::string npy;
};

// Refuses options that exclude each other, before any model is read.
void check_ablate(const AblateSettings& settings);

// Finds the words of the options in the text that the model has read.
struct AblateRequest {
  AblationPlan plan;
  std::optional<Index> position;  // none: the library chooses
  std::optional<TokenId> token;
  std::vector<std::string> notes;
};
[[nodiscard]] AblateRequest request_of(const Run& run, const AblateSettings& settings);

// "decoder heads 2.5 and 3.0 zeroed"
[[nodiscard]] std::string what_changes(const AblateSettings& settings, const AblationPlan& plan,
                                       const AblationEffect& effect);
// Describes a position's prediction: `the prediction of "chat"`, `the token after "mat"`.
[[nodiscard]] std::string position_words(const Run& run, Index position);
[[nodiscard]] std::string label_of(const Model& model, TokenId token);

}  // namespace headlight::cli
