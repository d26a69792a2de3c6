#include "headlight/ablate.h"

#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/effect.h"
#include "inspect/mean_outputs.h"
#include "inspect/sweep.h"
#include "session/state.h"

namespace headlight {
namespace {

using inspect::Question;
using inspect::Subject;

void check_model(const ModelInfo& info) {
  if (info.has_logits) return;
  throw Error(ErrorKind::usage, "ablate.head",
              concat("\"", escaped(info.name),
                     "\" was stored without its head, so it predicts nothing that could "
                     "change"));
}

// A run's predictions, which can be stopped between layers.
inspect::Predictions predictions(Context& ctx, const Subject& subject, const Question& question,
                                 Intervention* intervention, const Progress& progress) {
  session::CancelObserver observer(progress);
  const Tensor hidden = inspect::hidden_states(
      ctx, subject, question,
      {.observer = progress.cancelled ? &observer : nullptr, .intervention = intervention});
  return inspect::Predictions(subject.model->logits_of(ctx, hidden));
}

inspect::HeadOutputs means_of(Context& ctx, const Subject& subject, const std::vector<std::string>& texts,
                              const Progress& progress) {
  const std::span<const std::string> sentences = texts.empty() ? inspect::usual_sentences() : texts;
  return inspect::mean_outputs(ctx, subject, sentences,
                               [&](double done) {
                                 progress.tell("means of heads", done, 1);
                                 progress.check();
                               })
      .outputs;
}

// What the heads said in another run. Both write the same, so that their tokens stand side by side.
inspect::HeadOutputs patch_of(Context& ctx, const ModelState& model, const AblationPlan& plan,
                              const Question& question, const Progress& progress) {
  if (!plan.patch) throw Error(ErrorKind::usage, "ablate.patch", "patching takes the prompt of another run");
  Question other = session::question_of(ctx, model, *plan.patch, session::Needs::source, {}, progress);
  other.written = question.written;
  other.decoder_input = question.decoder_input;
  const Index here = inspect::readings_of(model.subject, question, plan.part).queries.size(),
              there = inspect::readings_of(model.subject, other, plan.part).queries.size();
  if (here != there && plan.queries.empty())
    throw Error(ErrorKind::usage, "ablate.patch",
                concat("heads are patched token by token: the other run has ", there, " tokens, this one ",
                       here, "; name the tokens to patch, or give a text of as many"));
  inspect::OutputRecorder recorder;
  (void)inspect::hidden_states(ctx, model.subject, other, {.intervention = &recorder});
  return std::move(recorder.outputs());
}

// Who is changed, with what they are changed into.
struct Changing {
  inspect::HeadOutputs outputs;
  inspect::ChangePlan plan;
};
void prepare(Context& ctx, const ModelState& model, const AblationPlan& plan, const Question& question,
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
  if (plan.change == Change::mean) out.outputs = means_of(ctx, model.subject, plan.mean_texts, progress);
  if (plan.change == Change::patch) out.outputs = patch_of(ctx, model, plan, question, progress);
  if (plan.change == Change::mean || plan.change == Change::patch) out.plan.outputs = &out.outputs;
}

}  // namespace

AblationEffect ablate(Context& ctx, const Model& model, const Prompt& prompt, const AblationPlan& plan,
                      const EffectRequest& request) {
  const ModelState& state = model.state();
  const Progress& progress = request.progress;
  check_model(state.info);
  const Question question = session::question_of(ctx, state, prompt, session::Needs::target, {}, progress);
  Changing changing;
  prepare(ctx, state, plan, question, progress, changing);
  inspect::Ablation ablation(changing.plan);
  progress.tell("as it is", 0, 2);
  const inspect::Predictions before = predictions(ctx, state.subject, question, nullptr, progress);
  progress.tell("with the change", 1, 2);
  const inspect::Predictions after = predictions(ctx, state.subject, question, &ablation, progress);
  if (request.position && (*request.position < 0 || *request.position >= before.rows()))
    throw Error(ErrorKind::usage, "ablate.position",
                concat("position ", *request.position, ": there are positions 0 to ", before.rows() - 1));
  inspect::Effect effect =
      inspect::effect_of(before, after, inspect::targets_of(state.subject, question),
                         {.row = request.position.value_or(-1), .top = request.top, .also = request.tokens});
  progress.tell("with the change", 2, 2);
  return {.kl = std::move(effect.kl),
          .mean_kl = effect.mean_kl,
          .position = effect.row,
          .tokens = std::move(effect.tokens),
          .loss_before = effect.loss_before,
          .loss_after = effect.loss_after};
}

SweepResult sweep(Context& ctx, const Model& model, const Prompt& prompt, const SweepOptions& options,
                  const Progress& progress) {
  const ModelState& state = model.state();
  check_model(state.info);
  if (options.change != Change::zero && options.change != Change::mean)
    throw Error(ErrorKind::usage, "sweep.change", "a sweep zeroes heads or replaces them by their means");
  const Question question = session::question_of(ctx, state, prompt, session::Needs::target, {}, progress);
  inspect::SweepRequest request{.parts = options.parts, .change = options.change};
  if (request.parts.empty())
    for (const PartInfo& part : state.info.parts) request.parts.push_back(part.part);
  for (const Part part : request.parts) session::check_head(state.info, {part, 0, 0});
  inspect::HeadOutputs means;
  if (options.change == Change::mean) {
    means = means_of(ctx, state.subject, options.mean_texts, progress);
    request.outputs = &means;
  }
  const inspect::Predictions before = predictions(ctx, state.subject, question, nullptr, progress);
  SweepResult result;
  result.position = options.position.value_or(before.rows() - 1);
  if (result.position < 0 || result.position >= before.rows())
    throw Error(ErrorKind::usage, "sweep.position",
                concat("position ", result.position, ": there are positions 0 to ", before.rows() - 1));
  result.token = options.token.value_or(before.likeliest(result.position, 1).front());
  result.probability = std::exp(before.log_probability(result.position, result.token));
  request.row = result.position;
  request.token = result.token;
  result.heads = inspect::sweep_heads(ctx, state.subject, question, request, [&](double done) {
    progress.tell("every head in turn", done, 1);
    progress.check();
  });
  return result;
}

}  // namespace headlight
