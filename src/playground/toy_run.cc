#include "playground/toy_run.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "models/tokenizer_file.h"
#include "train/checkpoint.h"

namespace headlight::playground {
namespace {

class Maps : public Observer {
 public:
  explicit Maps(std::vector<std::uint8_t>& out) : out_(out) {}
  void on_attention(const AttentionEvent& event) override {
    for (Index head = 0; head < event.q.dim(1); ++head) {
      const Tensor weights = event.weights(0, head);
      for (Index i = 0; i < weights.dim(0); ++i)
        for (Index j = 0; j < weights.dim(1); ++j)
          out_.push_back(
              static_cast<std::uint8_t>(std::lround(255 * std::clamp(weights.at(i, j), 0.0, 1.0))));
    }
  }

 private:
  std::vector<std::uint8_t>& out_;
};

// Heads whose output is zero.
class Silence : public Intervention {
 public:
  explicit Silence(std::span<const HeadPlace> heads) : heads_(heads) {}
  void on_heads(const AttentionEvent& event, TensorView z) override {
    for (const HeadPlace& place : heads_) {
      if (place.layer != event.layer) continue;
      for (Index t = 0; t < z.dim(0); ++t)
        for (Index d = 0; d < z.dim(2); ++d) z.set(t, place.head, d, 0);
    }
  }

 private:
  std::span<const HeadPlace> heads_;
};

}  // namespace

ToyRun::ToyRun(Context& ctx, const ToySettings& settings)
    : ctx_(ctx),
      settings_(settings),
      task_(task_of(settings)),
      made_(playground::model_of(settings, task_)),
      model_(*made_),
      parameters_(train::parameters_of(model_)),
      learner_(ctx, std::move(made_), task_, {.steps = settings.steps, .rate = settings.rate}) {}

void ToyRun::step() {
  loss_ += learner_.step();
  ++losses_;
}

double ToyRun::take_loss() {
  const double mean = losses_ > 0 ? loss_ / static_cast<double>(losses_) : NAN;
  loss_ = 0;
  losses_ = 0;
  return mean;
}

double ToyRun::accuracy() const { return accuracy(models::RunOptions{}); }

double ToyRun::accuracy(const models::RunOptions& options) const {
  models::Batch batch;
  task_.evaluation_batch(0, batch);
  const models::Loss loss = model_.evaluate(ctx_, batch, options);
  return loss.targets > 0 ? static_cast<double>(loss.correct) / static_cast<double>(loss.targets) : 0;
}

ToyLook ToyRun::look(const ToyCase& probe) const { return look(probe, models::RunOptions{}); }

ToyLook ToyRun::look(const ToyCase& probe, const models::RunOptions& options) const {
  ToyLook look;
  Maps maps(look.maps);
  models::Tokens tokens;
  tokens.append(probe.ids);
  models::RunOptions seen = options;
  seen.observer = &maps;
  const Tensor logits = model_.logits(ctx_, tokens, seen);
  const auto words = static_cast<std::size_t>(logits.dim(1));
  for (Index i = 0; i < logits.dim(0); ++i) {
    const float* row = logits.as<float>() + static_cast<std::size_t>(i) * words;
    look.says.push_back(static_cast<std::int32_t>(std::max_element(row, row + words) - row));
  }
  return look;
}

ToyAblation ToyRun::without(const ToyCase& probe, std::span<const HeadPlace> heads) const {
  for (const HeadPlace& place : heads)
    if (place.layer < 0 || place.layer >= settings_.layers || place.head < 0 || place.head >= settings_.heads)
      throw Error(
          ErrorKind::usage, "playground.head",
          concat("there is no head ", place.layer, ".", place.head, ": the model has ", settings_.layers,
                 settings_.layers == 1 ? " layer of " : " layers of ", settings_.heads, " heads"));
  Silence silence(heads);
  const models::RunOptions options{.intervention = &silence};
  return {accuracy(options), accuracy(), look(probe, options)};
}

void ToyRun::save(const std::string& parent, const std::string& name) {
  const char* off = !settings_.mask ? "the mask" : !settings_.residual ? "residual connections" : nullptr;
  if (off != nullptr)
    throw Error(ErrorKind::usage, "playground.save",
                concat("a model without ", off, " cannot be saved: no known model format describes it\n",
                       "Train it with ", off, " to save it."));
  train::CheckpointParts parts;
  parts.model = &model_;
  parts.tokenizer_json = models::tokenizer_to_json(task_.tokenizer());
  for (const auto& [key, value] : written(settings_)) parts.recipe.emplace_back("playground." + key, value);
  train::TrainingState progress;
  progress.step = learner_.steps();
  train::save_checkpoint(parent, name, parts, progress);
}

}  // namespace headlight::playground
