#include "inspect/sweep.h"

#include "inspect/attribution.h"

namespace headlight::inspect {
namespace {

// Direct effects of heads on the token's logit; none for models in which they are undefined.
std::vector<HeadContribution> direct_shares(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                            const SweepRequest& request) {
  const models::TransformerConfig& c = loaded.model->config();
  if (c.head.absent || c.head.masked) return {};
  return attribute_logit(ctx, loaded, input, request.row, request.token).heads;
}

std::vector<SweptHead> heads_to_sweep(const LoadedModel& loaded, const SweepRequest& request) {
  std::vector<SweptHead> swept;
  for (const Head& head : request.heads) swept.push_back({.part = head.part, .head = head.place()});
  if (!swept.empty()) return swept;
  for (const Part part : request.parts)
    for (const HeadPlace& head : all_heads(loaded.layers(part), loaded.heads(part)))
      swept.push_back({.part = part, .head = head});
  return swept;
}

}  // namespace

std::vector<SweptHead> sweep_heads(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                   const SweepRequest& request,
                                   const std::function<void(double done)>& progress) {
  std::vector<SweptHead> swept = heads_to_sweep(loaded, request);
  const Predictions before(run(ctx, loaded, input));
  const std::vector<std::int32_t> targets = targets_of(loaded, input);
  const std::vector<HeadContribution> shares = direct_shares(ctx, loaded, input, request);
  MeasuredLoss task_before;
  if (request.task != nullptr) task_before = measure_loss(ctx, loaded, *request.task);
  const double loss_before = loss_of(before, targets);
  for (std::size_t i = 0; i < swept.size(); ++i) {
    SweptHead& one = swept[i];
    Ablation ablation(
        {.change = request.change, .part = one.part, .heads = {one.head}, .outputs = request.outputs});
    const Predictions after(run(ctx, loaded, input, &ablation));
    one.kl = kl_divergence(before, after, request.row);
    for (Index r = 0; r < before.rows(); ++r)
      one.mean_kl += kl_divergence(before, after, r) / static_cast<double>(before.rows());
    one.log_probability = after.log_probability(request.row, request.token) -
                          before.log_probability(request.row, request.token);
    one.loss = loss_of(after, targets) - loss_before;
    for (const HeadContribution& share : shares)
      if (share.part == one.part && share.head == one.head) one.direct = share.logit;
    const auto tell = [&](double part_done) {
      if (progress) progress((static_cast<double>(i) + part_done) / static_cast<double>(swept.size()));
    };
    if (request.task != nullptr)
      one.task_loss = measure_loss(ctx, loaded, *request.task, &ablation, tell).mean - task_before.mean;
    tell(1);
  }
  return swept;
}

}  // namespace headlight::inspect
