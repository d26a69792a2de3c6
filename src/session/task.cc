#include "session/task.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::session {

std::optional<inspect::LossTask> loss_task(const ModelState& model, const TaskText* text) {
  if (text == nullptr) return std::nullopt;
  if (text->translations.sources.empty())
    return inspect::text_task(model.loaded, text->text, text->most_tokens);
  std::vector<inspect::TextPair> pairs;
  for (std::size_t i = 0; i < text->translations.sources.size(); ++i)
    pairs.emplace_back(text->translations.sources[i], text->translations.references[i].front());
  return inspect::pair_task(model.loaded, pairs);
}

void measure_task(Context& ctx, const ModelState& model, const TaskText& text, const inspect::LossTask& task,
                  Intervention& change, const Progress& progress, AblationEffect& effect) {
  const auto loss = [&](Intervention* intervention, std::string_view doing) {
    return inspect::measure_loss(ctx, model.loaded, task, intervention, [&](double done) {
      progress.tell(doing, done, 1);
      progress.check();
    });
  };
  const inspect::MeasuredLoss before = loss(nullptr, "loss before"), after = loss(&change, "loss after");
  effect.task_loss =
      TaskEffect{before.mean, after.mean, inspect::error_of_difference(before, after), before.targets};
  const TestSet& set = text.translations;
  if (set.sources.empty()) return;
  const Model handle(std::shared_ptr<const ModelState>(std::shared_ptr<void>(), &model));
  const auto bleu = [&](Intervention* intervention, std::string_view doing) {
    Progress named = progress;
    named.report = [&](const ProgressStep& step) { progress.tell(doing, step.done, step.total); };
    std::vector<std::string> texts;
    for (Translation& t : translate(ctx, handle, set.sources, {.intervention = intervention}, named))
      texts.push_back(std::move(t.text));
    return score_translations(set, texts).bleu;
  };
  effect.bleu =
      TaskEffect{bleu(nullptr, "translating without the change"),
                 bleu(&change, "translating with the change"), 0, static_cast<Index>(set.sources.size())};
}

inspect::MeanOutputs means_of(Context& ctx, const inspect::LoadedModel& loaded,
                              const std::vector<std::string>& texts, const Progress& progress) {
  const std::span<const std::string> sentences = texts.empty() ? inspect::usual_sentences() : texts;
  return inspect::mean_outputs(ctx, loaded, sentences, [&](double done) {
    progress.tell("means of heads", done, 1);
    progress.check();
  });
}

void check_predicts(const ModelInfo& info) {
  if (info.has_logits) return;
  throw Error(
      ErrorKind::usage, "ablate.head",
      concat("\"", escaped(info.name), "\" has no prediction head, so there are no predictions to compare"));
}

void check_position(std::optional<Index> position, Index positions) {
  if (position && (*position < 0 || *position >= positions))
    throw Error(ErrorKind::usage, "ablate.position",
                concat("position ", *position, ": there are positions 0 to ", positions - 1));
}

}  // namespace headlight::session
