#include "train/fine_tune.h"

#include <fmt/format.h>

#include <atomic>
#include <limits>

#include "headlight/error.h"
#include "io/json.h"
#include "train/run.h"

namespace headlight::train {
namespace {

constexpr const char* kRecipe = R"(
[data]
evaluation_size = 4096

[optimizer]
schedule = "cosine"
weight_decay = 0.01

[evaluation]
at_start = true
)";

std::string list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + io::json_quoted(text);
  return out + "]";
}

// Reports progress to the caller, and stops the run between two steps on request.
class Teller : public Listener {
 public:
  explicit Teller(const Progress& progress) : progress_(progress) {}
  void on_step(const StepReport& report) override {
    progress_.tell("steps", static_cast<double>(report.step), static_cast<double>(report.steps));
    if (progress_.cancelled && progress_.cancelled()) stop = 1;
  }
  void on_evaluation(const Evaluation& evaluation) override {
    if (evaluation.step == 0) before = evaluation.loss;
  }
  std::atomic<int> stop{0};
  double before = std::numeric_limits<double>::quiet_NaN();

 private:
  const Progress& progress_;
};

}  // namespace

Settings fine_tune_settings(const std::string& model, const FineTuneOptions& o) {
  Settings s = Settings::parse(kRecipe, "fine-tuning");
  const auto set = [&](std::string_view key, const auto& value) { s.set(fmt::format("{}={}", key, value)); };
  set("model.start", io::json_quoted(model));
  if (o.context > 0) set("model.context", o.context);
  if (o.rank > 0) {
    set("lora.rank", o.rank);
    set("lora.alpha", o.alpha);
    if (!o.targets.empty()) set("lora.targets", list(o.targets));
  }
  set("data.train", list(o.train));
  if (o.valid.empty()) set("data.valid_share", 0.1);
  else set("data.valid", list(o.valid));
  set("data.batch", o.batch);
  set("data.batch_tokens", 100 * o.batch);
  set("seed", o.seed);
  set("train.steps", o.steps);
  set("optimizer.learning_rate", o.learning_rate > 0 ? o.learning_rate : o.rank > 0 ? 2e-3 : 1e-4);
  set("optimizer.warmup", std::min<std::int64_t>(20, o.steps / 10));
  set("evaluation.every", o.evaluate_every);
  return s;
}

}  // namespace headlight::train

namespace headlight {

FineTuned fine_tune(Context& ctx, const std::string& model, const FineTuneOptions& options) {
  if (options.train.empty() || options.out.empty())
    throw Error(ErrorKind::usage, "train.options",
                "fine_tune: needs a file to learn from, and a folder to write to");
  train::Teller teller(options.progress);
  train::Run run(ctx, train::read_recipe(train::fine_tune_settings(model, options)),
                 {.folder = options.out, .progress = options.progress}, teller);
  if (run.go(teller.stop) == train::Ending::signal) throw Cancelled();
  return {.loss_before = teller.before,
          .loss_after = run.progress().best_loss,
          .parameters = static_cast<double>(run.model_parameters()),
          .trained = static_cast<double>(run.parameters()),
          .folder = run.folder() + "/best"};
}

}  // namespace headlight
