// A longer text on which a model is measured with and without changed heads.
#pragma once

#include <optional>

#include "headlight/ablate.h"
#include "inspect/ablation.h"
#include "inspect/loss_task.h"
#include "inspect/mean_outputs.h"
#include "session/state.h"

namespace headlight::session {

// Throw Error{usage} for models that have no such task, Error{input} for a text without enough tokens.
[[nodiscard]] std::optional<inspect::LossTask> loss_task(const ModelState& model, const TaskText* text);

// The loss, and for translations BLEU, before and after.
void measure_task(Context& ctx, const ModelState& model, const TaskText& text, const inspect::LossTask& task,
                  Intervention& change, const Progress& progress, AblationEffect& effect);

// Data that changes to heads need: means over sentences, outputs of another run.
struct Changing {
  inspect::HeadOutputs outputs;
  inspect::ChangePlan plan;
  Index sentences = 0, tokens = 0;  // of means
};
[[nodiscard]] inspect::MeanOutputs means_of(Context& ctx, const inspect::LoadedModel& loaded,
                                            const std::vector<std::string>& texts, const Progress& progress);
void check_predicts(const ModelInfo& info);
void check_position(std::optional<Index> position, Index positions);

}  // namespace headlight::session
