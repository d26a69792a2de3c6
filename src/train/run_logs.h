// Logs of a run: metrics as JSON lines, as a table and for TensorBoard, samples, and timing. A resumed run truncates them to
// its checkpoint, so that interrupted and uninterrupted runs leave the same files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace headlight::train {

class RunLogs {
 public:
  // Cuts off everything after the checkpoint of `progress`.
  RunLogs(const RunFolder& folder, const TrainingState& progress, bool tensorboard, Listener& listener);

  void step(const StepReport& report, std::int64_t tokens);
  void evaluation(const Evaluation& evaluation);
  void sample(std::int64_t step, const Sample& sample);
  void timing(std::int64_t step, double seconds, double tokens, double flops);

  // Flushes everything to the disk and stores the lengths of the files in `progress`. Throws Error{file}.
  void flush(TrainingState& progress);

 private:
  struct Number {
    const char* name;
    double value;
  };
  void write(std::int64_t step, const std::string& json, const std::vector<Number>& numbers);

  Listener& listener_;
  Growing metrics_, timing_, table_, samples_;
  std::optional<Growing> events_;
  bool told_of_full_disk_ = false;
};

}  // namespace headlight::train
