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
  std::string out = {};                 // folder of the run; must not contain one yet

  // LoRA: low-rank matrices next to those of attention and feed-forward layers. Rank 0: trains all parameters.
  Index rank = 4;
  double alpha = 8;
  std::vector<std::string> targets = {};  // none: "attention" and "feed_forward"

  std::int64_t steps = 200;
  std::int64_t evaluate_every = 50;
  Index batch = 8;           // windows of text; for pairs, in units of 100 tokens
  Index context = 0;         // tokens of a window; 0: 256, or the context of the model if that is shorter
  double learning_rate = 0;  // 0: 2e-3 for an adapter, 1e-4 for all parameters
  std::uint64_t seed = 1;
  Progress progress = {};  // on cancellation between steps, saves the run and throws Cancelled
};

struct FineTuned {
  double loss_before = 0,
         loss_after = 0;  // nats per token on `valid`: of the original model and of the best checkpoint
  double parameters = 0, trained = 0;  // counts: all parameters of the model, and the trained ones
  std::string folder;                  // of the best checkpoint: an adapter in PEFT's format, or a model
};

// `model` is a folder. Throws Error.
[[nodiscard]] FineTuned fine_tune(Context& ctx, const std::string& model, const FineTuneOptions& options);

}  // namespace headlight

#pragma GCC visibility pop
