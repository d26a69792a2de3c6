// Fine-tuning: takes a model folder and a text file, writes an adapter or a model.
//
//   const headlight::FineTuned tuned = headlight::fine_tune(ctx, "models/headlight-en", {.train = {"my.txt"}, .out = "runs/mine"});
//   const headlight::Model model = headlight::Model::open(tuned.folder);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/progress.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight {

struct FineTuneOptions {
  // Texts for a decoder or an encoder (.txt, .jsonl), pairs for an encoder-decoder (.tsv, .jsonl); plain or .gz.
  std::vector<std::string> train = {};
  std::vector<std::string> valid = {};  // none: the last tenth of `train`
  std::string out = {};                 // the run's folder; it must have no run yet

  // LoRA: small matrices beside those of attention and feed-forward layers. Rank 0: all parameters are trained.
  Index rank = 4;
  double alpha = 8;
  std::vector<std::string> targets = {};  // none: "attention" and "feed_forward"

  std::int64_t steps = 200;
  std::int64_t evaluate_every = 50;
  Index batch = 8;           // windows of text, or hundreds of tokens of pairs
  Index context = 0;         // tokens of a window; 0: 256, or what the model reads
  double learning_rate = 0;  // 0: 2e-3 for an adapter, 1e-4 for all parameters
  std::uint64_t seed = 1;
  Progress progress = {};  // cancelled between steps: the run is saved, and Cancelled is thrown
};

struct FineTuned {
  double loss_before = 0,
         loss_after = 0;  // nats per token on `valid`: of the model as it was, and of the best one
  double parameters = 0, trained = 0;  // numbers of the model, and those that were learnt
  std::string folder;                  // of the best: an adapter as PEFT stores it, or a model
};

// `model` is a folder. Throws Error.
[[nodiscard]] FineTuned fine_tune(Context& ctx, const std::string& model, const FineTuneOptions& options);

}  // namespace headlight

#pragma GCC visibility pop
