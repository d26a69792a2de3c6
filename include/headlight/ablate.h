// Heads and links changed, and what that does to a model's predictions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/effects.h"
#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

struct AblationPlan {
  Change change = Change::zero;
  Part part = Part::decoder;
  std::vector<HeadPlace> heads = {};         // none: all of the part
  double factor = 1;                         // of scale
  std::vector<std::string> mean_texts = {};  // of mean; none: twenty plain sentences
  std::optional<Prompt> patch =
      std::nullopt;                   // of patch: the other run, with as many tokens; its target is not read
  std::vector<Range> queries = {};    // at these tokens only; none: at all
  std::vector<TokenLink> links = {};  // of cuts
};

struct AblationEffect {
  std::vector<double> kl;  // KL divergence of each position's prediction, nats
  double mean_kl = 0;
  Index position = 0;                    // the one that `tokens` are of
  std::vector<TokenEffect> tokens = {};  // the likeliest before and after, by probability before
  double loss_before = 0,
         loss_after = 0;  // of the text's own tokens, nats per token; 0: nothing is predicted
};

struct EffectRequest {
  std::optional<Index> position = std::nullopt;  // none: where the prediction changes most
  Index top = 5;                                 // likeliest tokens before, and after
  std::vector<TokenId> tokens = {};              // also these
  Progress progress = {};
};
// Throws Error{usage} for models without logits and for plans that lack something.
[[nodiscard]] AblationEffect ablate(Context& ctx, const Model& model, const Prompt& prompt,
                                    const AblationPlan& plan, const EffectRequest& request = {});

// Every head knocked out once.
struct SweepOptions {
  std::vector<Part> parts = {};  // none: all
  Change change = Change::zero;  // or mean
  std::vector<std::string> mean_texts = {};
  std::optional<Index> position = std::nullopt;  // none: the last one
  std::optional<TokenId> token = std::nullopt;   // whose probability is followed there; none: the likeliest
};
struct SweepResult {
  Index position = 0;
  TokenId token = 0;
  double probability = 0;        // of the token, before
  std::vector<SweptHead> heads;  // by part, layer, head
};
[[nodiscard]] SweepResult sweep(Context& ctx, const Model& model, const Prompt& prompt,
                                const SweepOptions& options = {}, const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
