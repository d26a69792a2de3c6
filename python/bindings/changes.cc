// Changes of heads, and their effects on predictions.
#include "bindings/model.h"
#include "headlight/ablate.h"

namespace headlight::python {
namespace {

std::optional<Index> index_or_none(const Object& value, const char* name) {
  if (value.is_none()) return std::nullopt;
  return to_index(value, name);
}

Object task_effect(const std::optional<TaskEffect>& effect) {
  if (!effect) return none();
  return tuple_of(effect->before, effect->after, effect->error, effect->count);
}

Dict from_effect(const AblationEffect& effect) {
  Dict out;
  out["kl"] = effect.kl;
  out["mean_kl"] = effect.mean_kl;
  out["position"] = effect.position;
  out["tokens"] = list_of(effect.tokens, [](const TokenEffect& t) {
    return tuple_of(t.token, t.before, t.after, t.logit_before, t.logit_after, t.rank_before, t.rank_after);
  });
  out["loss_before"] = effect.has_loss ? to_python(effect.loss_before) : none();
  out["loss_after"] = effect.has_loss ? to_python(effect.loss_after) : none();
  const auto text = [](const std::optional<std::string>& t) { return t ? Object(from_text(*t)) : none(); };
  out["translation_before"] = text(effect.translation_before);
  out["translation_after"] = text(effect.translation_after);
  out["task_loss"] = task_effect(effect.task_loss);
  return out;
}

Dict ablate_run(const Run& run, const Object& part, const Object& heads, const std::string& change,
                double factor, const Object& mean_texts, const Object& patch, const Object& queries,
                const Object& links, const Object& position, Index top, bool translate,
                const Object& task_text, const Object& progress, const Object& threads) {
  AblationPlan plan{.change = to_change(change),
                    .part = to_part(part),
                    .heads = to_places(heads),
                    .factor = factor,
                    .mean_texts = to_texts(mean_texts, "mean_texts"),
                    .queries = to_ranges(queries, "queries")};
  if (!patch.is_none()) plan.patch = to_prompt(from_python<Dict>(patch, "patch"));
  if (!links.is_none())
    for (const Object& link : links) {
      const std::vector<Range> ends = to_ranges(link, "links");
      if (ends.size() != 2)
        throw Error(ErrorKind::usage, "python.links", "links are pairs of token ranges (queries, keys)");
      plan.links.push_back({ends[0], ends[1]});
    }
  TaskText task;
  if (!task_text.is_none()) task.text = to_text(task_text, "task_text");
  const EffectRequest request{.position = index_or_none(position, "position"),
                              .top = top,
                              .translate = translate,
                              .task = task_text.is_none() ? nullptr : &task,
                              .progress = progress_of(progress)};
  Context& ctx = context_for(threads);
  AblationEffect effect;
  {
    const ReleaseLock free;
    effect = ablate(ctx, run, plan, request);
  }
  return from_effect(effect);
}

Dict sweep_run(const Run& run, const Object& parts, const std::string& change, const Object& mean_texts,
               const Object& position, const Object& token, const Object& task_text, const Object& progress,
               const Object& threads) {
  SweepOptions options{.change = to_change(change),
                       .mean_texts = to_texts(mean_texts, "mean_texts"),
                       .position = index_or_none(position, "position")};
  if (!parts.is_none())
    for (const Object& part : parts) options.parts.push_back(to_part(part));
  if (!token.is_none()) options.token = static_cast<TokenId>(to_index(token, "token"));
  TaskText task;
  if (!task_text.is_none()) {
    task.text = to_text(task_text, "task_text");
    options.task = &task;
  }
  const Progress report = progress_of(progress);
  Context& ctx = context_for(threads);
  SweepResult swept;
  {
    const ReleaseLock free;
    swept = sweep(ctx, run, options, report);
  }
  Dict out;
  out["position"] = swept.position;
  out["token"] = swept.token;
  out["probability"] = swept.probability;
  out["task_loss"] = value_or_none(swept.task_loss);
  out["heads"] = list_of(swept.heads, [](const SweptHead& h) {
    return tuple_of(from_part(h.part), h.head.layer, h.head.head, h.kl, h.mean_kl, h.log_probability, h.loss,
                    value_or_none(h.direct), value_or_none(h.task_loss));
  });
  return out;
}

Dict attribute_run(const Run& run, const Object& position, const Object& token) {
  const std::optional<Index> at = index_or_none(position, "position");
  std::optional<TokenId> which;
  if (!token.is_none()) which = static_cast<TokenId>(to_index(token, "token"));
  Attribution found;
  {
    const ReleaseLock free;
    found = attribute(default_context(), run, at, which);
  }
  Dict out;
  out["position"] = found.row;
  out["token"] = found.token;
  out["heads"] = list_of(found.heads, [](const HeadContribution& h) {
    return tuple_of(from_part(h.part), h.head.layer, h.head.head, h.logit);
  });
  out["embedding"] = found.embedding;
  out["feed_forward"] = found.feed_forward;
  out["biases"] = found.biases;
  out["logit"] = found.logit;
  return out;
}

}  // namespace

void define_changes(const Module& module) {
  module.def<&ablate_run>("ablate");
  module.def<&sweep_run>("sweep");
  module.def<&attribute_run>("attribute");
}

}  // namespace headlight::python
