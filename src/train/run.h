// A whole training run: everything from a recipe to the last checkpoint.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "train/model_factory.h"
#include "train/prepare.h"
#include "train/recipe.h"
#include "train/sampler.h"
#include "train/trainer.h"
#include "train/watch.h"

namespace headlight::train {

struct RunOptions {
  std::string folder;
  bool resume = false;
  bool allow_data_change = false;
  bool follows = false;    // another process of the team owns the folder and writes to it
  Progress progress = {};  // progress of the preparation; steps are reported to the Listener
};

class Run {
 public:
  // Locks the folder first, then reads the data, then creates the model; throws if the run cannot work.
  Run(Context& ctx, Recipe recipe, const RunOptions& options, Listener& listener);

  [[nodiscard]] Ending go(const std::atomic<int>& stop) { return trainer_->run(stop); }

  [[nodiscard]] const Recipe& recipe() const noexcept { return recipe_; }
  [[nodiscard]] const std::vector<DataFile>& data() const noexcept { return prepared_.data; }
  [[nodiscard]] const Task& task() const noexcept { return *prepared_.task; }
  [[nodiscard]] Index parameters() const;        // number of trained parameters
  [[nodiscard]] Index model_parameters() const;  // number of all parameters, including adapters
  [[nodiscard]] bool resumed() const noexcept { return resumed_; }
  [[nodiscard]] const TrainingState& progress() const noexcept { return trainer_->progress(); }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_.path(); }

 private:
  [[nodiscard]] std::string saved_tokenizer() const;
  [[nodiscard]] bool goes_on(const RunOptions& options) const;
  [[nodiscard]] std::string start_path(const RunOptions& options) const;
  [[nodiscard]] Index vocabulary(const RunOptions& options) const;
  [[nodiscard]] const models::Transformer* transformer() const;
  void make_model_of(const RunOptions& options, const std::optional<models::TransformerConfig>& start);
  void make_watcher(Context& ctx, Listener& listener, TrainerParts& parts);
  void make_sampler(Context& ctx, TrainerParts& parts);
  void make_trainer(Context& ctx, Listener& listener);

  Recipe recipe_;
  RunFolder folder_;
  Prepared prepared_;
  std::unique_ptr<models::Trainable> model_;
  std::optional<AdamW> adam_;
  std::optional<Watcher> watcher_;
  std::optional<Sampler> sampler_;
  std::optional<Trainer> trainer_;
  bool resumed_ = false;
};

}  // namespace headlight::train
