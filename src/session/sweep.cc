#include "inspect/sweep.h"

#include <cmath>

#include "core/concat.h"
#include "headlight/ablate.h"
#include "headlight/error.h"
#include "headlight/look.h"
#include "inspect/attribution.h"
#include "session/task.h"

namespace headlight {
namespace {

TokenId likeliest(const Run& run, Index position, Context& ctx) {
  return run.prediction(position, 1, ctx).top.front().id;
}

}  // namespace

SweepResult sweep(Context& ctx, const Run& run, const SweepOptions& options, const Progress& progress) {
  const ModelState& state = run.model().state();
  session::check_predicts(state.info);
  if (options.change != Change::zero && options.change != Change::mean)
    throw Error(ErrorKind::usage, "sweep.change", "a sweep zeroes heads or replaces them by their means");
  session::check_position(options.position, run.positions());
  const session::RunContext own(run.state(), ctx);
  inspect::SweepRequest request{.parts = options.parts, .heads = options.heads, .change = options.change};
  for (const Head& head : options.heads) session::check_head(state.info, head);
  if (request.parts.empty())
    for (const PartInfo& part : state.info.parts) request.parts.push_back(part.part);
  for (const Part part : request.parts) session::check_head(state.info, {part, 0, 0});
  const std::optional<inspect::LossTask> task = session::loss_task(state, options.task);
  request.task = task ? &*task : nullptr;
  inspect::MeanOutputs means;
  if (options.change == Change::mean) {
    means = session::means_of(own, state.loaded, options.mean_texts, progress);
    request.outputs = &means.outputs;
  }
  SweepResult result;
  result.position = options.position ? *options.position : usual_position(run);
  result.token = options.token ? *options.token : likeliest(run, result.position, own);
  const inspect::Predictions before(run.logits({result.position, result.position + 1}, own));
  result.probability = std::exp(before.log_probability(0, result.token));
  request.row = result.position;
  request.token = result.token;
  result.heads = inspect::sweep_heads(own, state.loaded, run.state().input, request, [&](double done) {
    progress.tell("every head in turn", done, 1);
    progress.check();
  });
  if (task) {
    result.task_loss = inspect::measure_loss(own, state.loaded, *task).mean;
    result.task_tokens = task->targets;
  }
  return result;
}

SweepResult sweep(Context& ctx, const Model& model, const Prompt& prompt, const SweepOptions& options,
                  const Progress& progress) {
  session::check_predicts(model.info());
  return sweep(ctx, attend(ctx, model, prompt, {.keep_attention = false, .progress = progress}), options,
               progress);
}

Attribution attribute(Context& ctx, const Run& run, std::optional<Index> position,
                      std::optional<TokenId> token, const Progress& progress) {
  session::check_predicts(run.model().info());
  session::check_position(position, run.positions());
  const session::RunContext own(run.state(), ctx);
  const Index row = position ? *position : usual_position(run);
  session::CancelObserver between_layers(progress);
  return inspect::attribute_logit(own, run.state().loaded(), run.state().input, row,
                                  token ? *token : likeliest(run, row, own), &between_layers);
}

}  // namespace headlight
