// A checkpoint on disk: a folder that other programs can load as a model (config.json,
// model.safetensors, tokenizer.json), with the optimizer's state (training.safetensors) and everything else
// that is needed to continue with the same bits (checkpoint.json). Every file and every tensor has a checksum.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/trainable.h"
#include "train/adamw.h"

namespace headlight::train {

inline constexpr std::int64_t kCheckpointVersion = 1;

// A file of training data as it was when the run began.
struct DataFile {
  std::string path;
  std::uint64_t bytes = 0;  // of the text, after decompression
  std::string hash;
  bool operator==(const DataFile&) const = default;
};

// State of a run, except its parameters and recipe. Contains no times.
struct TrainingState {
  std::int64_t step = 0;    // updates done
  std::int64_t tokens = 0;  // targets learnt from
  double smoothed = 0;      // running mean of the loss, before its correction for the start
  double best_loss = std::numeric_limits<double>::infinity();
  std::int64_t best_step = 0;
  std::int64_t stale = 0;           // number of evaluations since the best one
  std::int64_t evaluated_step = 0;  // of the newest evaluation, which follows the checkpoint of its step
  std::uint64_t metrics_bytes = 0;  // length and checksum of metrics.jsonl at that moment
  std::string metrics_hash;
  // Length of metrics.csv, samples.jsonl and TensorBoard's file.
  std::uint64_t table_bytes = 0, samples_bytes = 0, events_bytes = 0;
};

using Facts = std::vector<std::pair<std::string, std::string>>;

// The parts of a run that a checkpoint holds. `adam` may be null: the model can be used, but not trained further.
struct CheckpointParts {
  models::Trainable* model = nullptr;
  AdamW* adam = nullptr;
  std::string tokenizer_json = {};  // empty: none
  Facts recipe = {};                // every setting as text
  std::vector<DataFile> data = {};
};

// Writes `parent`/`name` atomically. Throws Error{file}.
void save_checkpoint(const std::string& parent, const std::string& name, const CheckpointParts& parts,
                     const TrainingState& progress);

struct LoadRules {
  std::vector<std::string> may_differ = {};  // settings that do not change results
  // Settings at their default: a checkpoint from before they existed does not have them.
  std::vector<std::string> defaults = {};
  bool data_may_differ = false;
};

// Checks everything, then overwrites parameters and optimizer. Throws Error{input}: checkpoint.damaged (another
// one may be good), checkpoint.version, checkpoint.differs, checkpoint.data (this run cannot be continued).
[[nodiscard]] TrainingState load_checkpoint(const std::string& folder, const CheckpointParts& parts,
                                            const LoadRules& rules = {});

// The tokenizer.json that a checkpoint was saved with, empty if there is none; checked.
[[nodiscard]] std::string checkpoint_tokenizer(const std::string& folder);

}  // namespace headlight::train
