#include "headlight/ablate.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "inspect/effect.h"
#include "session/task.h"

namespace headlight {
namespace {

using inspect::ModelInput;
using session::Changing;

// Outputs of the heads in another run. Both generate the same tokens, so that their positions correspond.
inspect::HeadOutputs patch_of(Context& ctx, const ModelState& model, const AblationPlan& plan,
                              const ModelInput& input, const Progress& progress) {
  if (!plan.patch) throw Error(ErrorKind::usage, "ablate.patch", "patching needs the prompt of another run");
  ModelInput other = session::input_of(ctx, model, *plan.patch, session::Needs::source, {}, progress);
  other.written = input.written;
  other.decoder_input = input.decoder_input;
  const Index here = inspect::sides_of(model.loaded, input, plan.part).queries.size(),
              there = inspect::sides_of(model.loaded, other, plan.part).queries.size();
  if (here != there && plan.queries.empty())
    throw Error(ErrorKind::usage, "ablate.patch",
                concat("heads are patched token by token: the other run has ", there, " tokens, this one ",
                       here, "; name the tokens to patch, or give a text with the same number of tokens"));
  for (const Range& range : plan.queries)
    if (range.end > there)
      throw Error(ErrorKind::usage, "ablate.patch",
                  concat("the other run has ", there, " tokens, none at the position of tokens ", range.begin,
                         " to ", range.end - 1, " that are to be patched"));
  inspect::OutputRecorder recorder;
  (void)inspect::hidden_states(ctx, model.loaded, other, {.intervention = &recorder});
  return std::move(recorder.outputs());
}

void prepare(Context& ctx, const ModelState& model, const AblationPlan& plan, const ModelInput& input,
             const Progress& progress, Changing& out) {
  const PartInfo* part = model.info.find(plan.part);
  for (const HeadPlace& place : plan.heads)
    session::check_head(model.info, {plan.part, place.layer, place.head});
  if (part == nullptr) session::check_head(model.info, {plan.part, 0, 0});
  out.plan = {
      .change = plan.change,
      .part = plan.part,
      .heads = plan.heads.empty() ? inspect::all_heads(part->layers(), part->heads.front()) : plan.heads,
      .factor = plan.factor,
      .queries = plan.queries,
      .links = plan.links};
  if (plan.change == Change::mean) {
    inspect::MeanOutputs means = session::means_of(ctx, model.loaded, plan.mean_texts, progress);
    out.outputs = std::move(means.outputs);
    out.sentences = means.sentences;
    out.tokens = means.tokens;
  }
  if (plan.change == Change::patch) out.outputs = patch_of(ctx, model, plan, input, progress);
  if (plan.change == Change::mean || plan.change == Change::patch) out.plan.outputs = &out.outputs;
}

// The model's own translation, generated again with the change.
void translate_again(Context& ctx, const ModelState& model, const ModelInput& input,
                     inspect::Ablation& ablation, const Progress& progress, AblationEffect& effect) {
  if (model.info.kind != ModelKind::encoder_decoder || !model.loaded.tokenizer ||
      input.written.tokens.empty())
    return;
  const auto text_of = [&](const inspect::EncodedText& encoded) {
    return model.loaded.tokenizer->decode(encoded.ids());
  };
  session::CancelObserver observer(progress);
  effect.translation_before = text_of(input.written);
  effect.translation_after = text_of(inspect::translate(ctx, model.loaded, input.source,
                                                        progress.cancelled ? &observer : nullptr, &ablation));
}

inspect::Predictions changed_predictions(Context& ctx, const ModelState& model, const ModelInput& input,
                                         inspect::Ablation& ablation, const Progress& progress) {
  session::CancelObserver observer(progress);
  const Tensor hidden = inspect::hidden_states(
      ctx, model.loaded, input,
      {.observer = progress.cancelled ? &observer : nullptr, .intervention = &ablation});
  return inspect::Predictions(model.loaded.model->logits_of(ctx, hidden));
}

AblationEffect compared(const inspect::Predictions& before, const inspect::Predictions& after, const Run& run,
                        const EffectRequest& request) {
  const std::optional<Index> position = request.position ? request.position : natural_position(run);
  const std::vector<TokenId> targets = inspect::targets_of(run.model().state().loaded, run.state().input);
  inspect::Effect found = inspect::effect_of(
      before, after, targets, {.row = position.value_or(-1), .top = request.top, .also = request.tokens});
  AblationEffect effect{.kl = std::move(found.kl),
                        .mean_kl = found.mean_kl,
                        .position = found.row,
                        .tokens = std::move(found.tokens),
                        .loss_before = found.loss_before,
                        .loss_after = found.loss_after};
  effect.has_loss =
      std::any_of(targets.begin(), targets.end(), [](TokenId t) { return t != models::kIgnored; });
  return effect;
}

}  // namespace

ChangedRun attend_changed(Context& ctx, const Run& before, const AblationPlan& plan,
                          const Progress& progress) {
  const ModelState& state = before.model().state();
  const session::RunContext own(before.state(), ctx);
  const ModelInput& input = before.state().input;
  Changing changing;
  prepare(own, state, plan, input, progress, changing);
  inspect::Ablation ablation(changing.plan);
  AttendOptions options{.intervention = &ablation, .progress = progress};
  options.parts.assign(before.parts().begin(), before.parts().end());
  return {session::attend_tokens(own, before.model(), input, options), changing.sentences, changing.tokens};
}

AblationEffect effect_between(Context& ctx, const Run& before, const Run& after,
                              const EffectRequest& request) {
  const ModelState& state = before.model().state();
  session::check_predicts(state.info);
  session::check_position(request.position, before.positions());
  if (before.positions() != after.positions())
    throw Error(ErrorKind::usage, "effect.runs",
                concat("the two runs predict at ", before.positions(), " and at ", after.positions(),
                       " positions; runs of the same tokens can be compared"));
  const session::RunContext own(before.state(), ctx);
  return compared(inspect::Predictions(before.logits({}, own)), inspect::Predictions(after.logits({}, own)),
                  before, request);
}

AblationEffect ablate(Context& ctx, const Run& run, const AblationPlan& plan, const EffectRequest& request) {
  const ModelState& state = run.model().state();
  const Progress& progress = request.progress;
  session::check_predicts(state.info);
  session::check_position(request.position, run.positions());
  const session::RunContext own(run.state(), ctx);
  const ModelInput& input = run.state().input;
  const std::optional<inspect::LossTask> task = session::loss_task(state, request.task);
  Changing changing;
  prepare(own, state, plan, input, progress, changing);
  inspect::Ablation ablation(changing.plan);
  progress.tell("with the change", 1, 2);
  const inspect::Predictions before(run.logits({}, own)),
      after = changed_predictions(own, state, input, ablation, progress);
  AblationEffect effect = compared(before, after, run, request);
  progress.tell("with the change", 2, 2);
  effect.mean_sentences = changing.sentences;
  effect.mean_tokens = changing.tokens;
  if (request.translate) translate_again(own, state, input, ablation, progress, effect);
  if (task) session::measure_task(own, state, *request.task, *task, ablation, progress, effect);
  return effect;
}

AblationEffect ablate(Context& ctx, const Model& model, const Prompt& prompt, const AblationPlan& plan,
                      const EffectRequest& request) {
  session::check_predicts(model.info());
  return ablate(ctx, attend(ctx, model, prompt, {.keep_attention = false, .progress = request.progress}),
                plan, request);
}

}  // namespace headlight
