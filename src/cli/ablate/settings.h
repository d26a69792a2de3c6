// What `headlight ablate` was asked for, and what its words mean for the model and the text at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/figure_files.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "inspect/ablation.h"
#include "inspect/mean_outputs.h"

namespace headlight::cli {

enum class SweepBy : std::uint8_t { kl, token, loss, direct };

struct AblateSettings : ModelInput, FigureFiles {
  std::optional<Part> part;
  std::optional<Index> layer;
  std::vector<inspect::HeadPlace> heads;
  std::string edge, patch, at, position, token;
  std::optional<inspect::Change> with;  // zero or mean
  std::optional<inspect::Change> cut;   // cut_mask or cut_weight
  std::optional<double> scale;
  std::string mean_over, corpus, evaluate;
  bool sweep = false, attribute = false;
  std::optional<SweepBy> by;
  std::optional<Index> limit;
  Index top = 5, threads = 0;
  Color color = Color::automatic;
  JsonTarget json;
};

// Refuses options that do not belong together, before any model is read.
void check_ablate(const AblateSettings& settings);

// A model with its text, and the options' words found in it.
class AblateCase {
 public:
  AblateCase(Context& ctx, const inspect::Subject& subject, const AblateSettings& settings, ProgressBar& bar);

  [[nodiscard]] const inspect::Question& question() const { return question_; }
  [[nodiscard]] Part part() const { return part_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] bool translates() const;

  // Which heads become what. Runs the other sentence of a patch, and the sentences of a mean.
  [[nodiscard]] inspect::ChangePlan plan();
  // Means of heads, with the words that say over what; computed when first wanted.
  [[nodiscard]] const inspect::HeadOutputs* means();
  // "decoder heads 2.5 and 3.0 zeroed"
  [[nodiscard]] std::string what() const;

  // The row of predictions that was asked for; none: the caller chooses.
  [[nodiscard]] std::optional<Index> asked_row() const { return row_; }
  // The last word, or what a decoder writes next: for when nobody asked and every head is to be asked the same.
  [[nodiscard]] Index usual_row() const;
  [[nodiscard]] std::optional<std::int32_t> asked_token() const { return token_; }
  // What the rows of predictions are about: `the prediction of "chat"`, `what follows "mat"`.
  [[nodiscard]] std::string row_words(Index row) const;
  [[nodiscard]] const inspect::Reading& predicted() const;  // a label for each row
  [[nodiscard]] bool predicts_next() const;
  [[nodiscard]] std::string label_of(std::int32_t token) const;

 private:
  void find_heads();
  void find_row();
  [[nodiscard]] std::int32_t find_token(const std::string& text) const;
  [[nodiscard]] Range picked(const inspect::Reading& reading, const std::string& word);
  void add_links(inspect::ChangePlan& plan);
  void record_patch(inspect::ChangePlan& plan);

  Context& ctx_;
  const inspect::Subject& subject_;
  const AblateSettings& s_;
  ProgressBar& bar_;
  Part part_;
  inspect::Question question_;
  std::vector<inspect::HeadPlace> heads_;
  std::optional<Index> row_;
  std::optional<std::int32_t> token_;
  std::optional<inspect::MeanOutputs> means_;
  inspect::HeadOutputs patch_;
  std::vector<std::string> notes_;
};

}  // namespace headlight::cli
