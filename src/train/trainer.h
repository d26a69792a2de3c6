// The training loop, with evaluations, checkpoints and a listener for progress. The same
// recipe gives the same bits on any number of threads, with or without interruption.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "models/trainable.h"
#include "train/adamw.h"
#include "train/checkpoint.h"
#include "train/gradient_tree.h"
#include "train/run_folder.h"
#include "train/schedule.h"
#include "train/task.h"

namespace headlight::train {

struct TrainerConfig {
  std::uint64_t seed = 1;
  std::int64_t steps = 1000;
  Index accumulate = 1;                // batches of a step
  Divided divided = Divided::batches;  // by processes that learn together
  double clip = 1;                     // longest gradient; 0: any
  double label_smoothing = 0;
  bool checkpoint_layers = false;  // recompute layers in the backward pass: less memory, same bits
  models::Guide guide = {};
  Schedule schedule;
  std::int64_t evaluate_every = 100;  // 0: only at the end
  bool evaluate_first = false;        // also before the first step
  std::int64_t patience = 0;          // evaluations without improvement before stopping; 0: never stop early
  std::int64_t log_every = 10;
  std::int64_t save_every = 500;  // 0: only before evaluations and at the end
  std::size_t keep = 2;           // checkpoints
  std::int64_t watch_every = 0;   // 0: only at evaluations
  bool tensorboard = true;        // write event files
};

struct StepReport {
  std::int64_t step = 0, steps = 0;
  double loss = 0, smoothed = 0, learning_rate = 0, gradient_norm = 0;
  Index targets = 0;   // of this step
  double linked = 0;   // -log of the guided head's weight on the right keys, per link
  Index links = 0;     // of this step
  double epochs = 0;   // 0: the data is endless
  double seconds = 0;  // of this step
  double flops = 0;    // of this step
  Index tokens = 0;    // read in this step: source and input
};

struct Evaluation {
  std::int64_t step = 0;
  double loss = 0, accuracy = 0;
  Index targets = 0;
  bool best = false;
  std::optional<double> bleu = {};  // of translations of evaluation pairs
};

// Texts that the model generates at an evaluation.
struct Sample {
  std::string prompt, text;
};
struct Written {
  std::vector<Sample> samples = {};
  std::optional<double> bleu = {};
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_step(const StepReport& /*report*/) {}
  virtual void on_evaluation(const Evaluation& /*evaluation*/) {}
  virtual void on_sample(std::int64_t /*step*/, const Sample& /*sample*/) {}
  virtual void on_save(const std::string& /*folder*/) {}
  virtual void on_notice(const std::string& /*text*/) {}  // a note for the user
};

enum class Ending { finished, early, signal };

struct TrainerParts {
  Context& ctx;
  const Task& task;
  models::Trainable& model;
  AdamW& adam;
  RunFolder& folder;
  Listener& listener;
  CheckpointParts checkpoint;  // tokenizer, recipe, data; model and adam are filled in
  // Called with the step: pictures of what the model attends to. May be empty.
  std::function<void(std::int64_t)> watch = {};
  std::function<Written()> write = {};  // samples and scores of an evaluation; may be empty
};

class Trainer {
 public:
  Trainer(TrainerParts parts, const TrainerConfig& config);

  // Continues from the newest intact checkpoint; false when the folder has none. Skips damaged ones
  // with a notice; when all are damaged, Error{input}.
  bool resume(const LoadRules& rules);
  // Runs until the last step, an early stop, or until `stop` is not 0 (the number of a signal); saves in each case. Processes
  // of a team (headlight/team.h) share the batches of every step; process 0 writes.
  // Throws Error{numeric} when the loss or its gradient is not finite, leaving the last checkpoint.
  Ending run(const std::atomic<int>& stop);

  [[nodiscard]] const TrainingState& progress() const noexcept { return progress_; }

 private:
  void learn_step();
  void evaluate();
  [[nodiscard]] models::Loss learn_batches(std::int64_t first, Index targets);
  [[nodiscard]] int stopped(const std::atomic<int>& stop) const;
  [[nodiscard]] bool leads() const;  // a single process, or the process of a team that writes files
  enum class Save { middle, last };
  void save(Save which);
  void write_timing(const StepReport& report);
  [[nodiscard]] bool due(std::int64_t every) const;
  [[nodiscard]] bool stale() const;
  [[nodiscard]] bool evaluation_due() const;

  TrainerParts parts_;
  TrainerConfig config_;
  TrainingState progress_;
  std::shared_ptr<class RunLogs> logs_;
  double seconds_ = 0, tokens_ = 0, flops_ = 0;  // since the last line of timing.jsonl
  std::vector<models::Batch> batches_;           // of one step; their memory is reused
  const std::atomic<int>* stop_ = nullptr;       // of this process
  int agreed_stop_ = 0;                          // the result of the team's last agreement
};

}  // namespace headlight::train
