// A small run of the trainer with everything around it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "io/gzip.h"
#include "io/hash.h"
#include "train/bigram.h"
#include "train/language_task.h"
#include "train/trainer.h"

namespace headlight::testing {

struct Notes : train::Listener {
  void on_step(const train::StepReport& report) override {
    steps.push_back(report);
    if (stop_at > 0 && report.step == stop_at) stop = stop_with;
  }
  void on_evaluation(const train::Evaluation& evaluation) override { evaluations.push_back(evaluation); }
  void on_save(const std::string& folder) override { saves.push_back(folder); }
  void on_notice(const std::string& text) override { notices.push_back(text); }

  std::vector<train::StepReport> steps;
  std::vector<train::Evaluation> evaluations;
  std::vector<std::string> saves, notices;
  std::int64_t stop_at = 0;
  int stop_with = 15;
  std::atomic<int> stop{0};
};

inline train::Corpus pattern_corpus() {
  std::vector<TokenId> train, valid;
  for (int i = 0; i < 4000; ++i) train.push_back((i * i / 3 + i) % 12);
  for (int i = 4000; i < 4400; ++i) valid.push_back((i * i / 3 + i) % 12);
  return {std::move(train), std::move(valid), {}};
}

inline train::TrainerConfig small_config() {
  train::TrainerConfig config;
  config.steps = 60;
  config.accumulate = 2;
  config.schedule = {
      .kind = train::ScheduleKind::cosine, .peak = 0.05, .floor = 0.005, .warmup = 5, .steps = 60};
  config.evaluate_every = 20;
  config.log_every = 3;
  config.save_every = 10;
  return config;
}

class Workbench {
 public:
  explicit Workbench(const std::string& folder, const train::TrainerConfig& config = small_config(),
                     const train::AdamWConfig& adam = {}, int threads = 1, Team* team = nullptr)
      : ctx(team == nullptr ? ContextOptions{.threads = threads}
                            : ContextOptions{.executor = team_executor(*team, Together::items, threads)}),
        task(pattern_corpus(), {.context = 16, .rows = 4, .vocabulary = 12, .seed = config.seed}),
        model(12),
        optimizer((model.initialize(config.seed), model.parameters()), adam),
        run(folder, team != nullptr && team->rank() > 0 ? train::RunFolder::Follow::process_0
                                                        : train::RunFolder::Follow::nobody),
        trainer({ctx, task, model, optimizer, run, notes, checkpoint()}, config) {}

  static train::CheckpointParts checkpoint() {
    train::CheckpointParts parts;
    parts.tokenizer_json = "{\"tokenizer\": 1}";
    parts.recipe = {{"model.width", "12"}, {"seed", "1"}};
    parts.data = {{"a.txt", 100, "0123456789abcdef"}};
    return parts;
  }
  train::CheckpointParts parts() {
    train::CheckpointParts all = checkpoint();
    all.model = &model;
    all.adam = &optimizer;
    return all;
  }
  train::Ending go() { return trainer.run(notes.stop); }

  Context ctx;
  Notes notes;
  train::LanguageTask task;
  Bigram model;
  train::AdamW optimizer;
  train::RunFolder run;
  train::Trainer trainer;
};

// Checksums of everything that must not depend on how a run was cut into pieces.
inline std::string fingerprint(const std::string& run, const std::string& checkpoint) {
  std::string text;
  for (const char* file : {"/model.safetensors", "/training.safetensors", "/config.json", "/checkpoint.json"})
    text += io::hash_text(io::read_text(run + "/" + checkpoint + file)) + " ";
  return text + io::hash_text(io::read_text(run + "/metrics.jsonl"));
}

}  // namespace headlight::testing
