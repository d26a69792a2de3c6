// Changes to heads and links, and their effect on the predictions of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/effects.h"
#include "headlight/run.h"
#include "headlight/write.h"

#pragma GCC visibility push(default)

namespace headlight {

struct AblationPlan {
  Change change = Change::zero;
  Part part = Part::decoder;
  std::vector<HeadPlace> heads = {};         // none: all of the part
  double factor = 1;                         // for Change::scale
  std::vector<std::string> mean_texts = {};  // for mean; none: twenty built-in sentences
  std::optional<Prompt> patch =
      std::nullopt;                 // for Change::patch: the other run; the same number of tokens, no target
  std::vector<Range> queries = {};  // change these tokens only; none: all
  std::vector<TokenLink> links = {};  // for Change::cut_mask and cut_weight
};

// A longer test on which the change is also measured: a text or translations, not both.
struct TaskText {
  std::string text = {};      // measures a decoder's loss
  Index most_tokens = 0;      // first tokens of the text to use; 0: all
  TestSet translations = {};  // measures an encoder-decoder's loss on the first references, and its BLEU
};
struct TaskEffect {
  double before = 0, after = 0;
  double error = 0;  // standard error of the difference; 0: unknown
  Index count = 0;   // tokens, or sentences
};

struct AblationEffect {
  std::vector<double> kl;  // KL divergence of each position's prediction, nats
  double mean_kl = 0;
  Index position = 0;                         // of `tokens`
  std::vector<TokenEffect> tokens = {};       // most likely before and after, by probability before
  double loss_before = 0, loss_after = 0;     // of the tokens of the text, nats per token
  bool has_loss = false;                      // false: no position has a token to predict
  Index mean_sentences = 0, mean_tokens = 0;  // texts that means were computed on
  std::optional<std::string> translation_before = std::nullopt, translation_after = std::nullopt;
  std::optional<TaskEffect> task_loss = std::nullopt, bleu = std::nullopt;
};

struct EffectRequest {
  std::optional<Index> position =
      std::nullopt;  // none: natural_position(), and without one where the prediction changes most
  Index top = 5;     // most likely tokens before, and after
  std::vector<TokenId> tokens = {};  // also these
  bool translate = false;            // also translate with the change
  const TaskText* task = nullptr;
  Progress progress = {};
};
// Throws Error{usage} for models without logits and for incomplete plans.
[[nodiscard]] AblationEffect ablate(Context& ctx, const Run& before, const AblationPlan& plan,
                                    const EffectRequest& request = {});
[[nodiscard]] AblationEffect ablate(Context& ctx, const Model& model, const Prompt& prompt,
                                    const AblationPlan& plan, const EffectRequest& request = {});

// Repeats the run with the change: the same tokens, and the attention of every head after the change.
struct ChangedRun {
  Run run;
  Index mean_sentences = 0, mean_tokens = 0;  // texts that means were computed on
};
[[nodiscard]] ChangedRun attend_changed(Context& ctx, const Run& before, const AblationPlan& plan,
                                        const Progress& progress = {});
// How the predictions of two runs of the same tokens differ. `translate` and `task` are not read.
[[nodiscard]] AblationEffect effect_between(Context& ctx, const Run& before, const Run& after,
                                            const EffectRequest& request = {});

// Every head removed in turn.
struct SweepOptions {
  std::vector<Part> parts = {};  // none: all
  std::vector<Head> heads = {};  // only these, in this order; none: all of the parts
  Change change = Change::zero;  // or mean
  std::vector<std::string> mean_texts = {};
  const TaskText* task = nullptr;
  std::optional<Index> position = std::nullopt;  // none: usual_position()
  std::optional<TokenId> token = std::nullopt;   // token whose probability is tracked; none: the most likely
};
struct SweepResult {
  Index position = 0;
  TokenId token = 0;
  double probability = 0;                          // of the token, before
  std::vector<SweptHead> heads;                    // by part, layer, head, or in the requested order
  std::optional<double> task_loss = std::nullopt;  // before, nats per token
  Index task_tokens = 0;
};
[[nodiscard]] SweepResult sweep(Context& ctx, const Run& before, const SweepOptions& options = {},
                                const Progress& progress = {});
[[nodiscard]] SweepResult sweep(Context& ctx, const Model& model, const Prompt& prompt,
                                const SweepOptions& options = {}, const Progress& progress = {});

// Direct effect of each head on the logit of a token, for the heads of the stack that the logits come from: the encoder of
// an encoder-decoder acts only through cross-attention. Throws Error{usage} for models without logits, or with an
// activation before them. Defaults: usual_position() and its most likely token.
[[nodiscard]] Attribution attribute(Context& ctx, const Run& run,
                                    std::optional<Index> position = std::nullopt,
                                    std::optional<TokenId> token = std::nullopt,
                                    const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
