// What leaks without the causal mask: a text whose next symbol is a coin toss, predicted with and without it.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "draw/curves.h"
#include "lab/experiment.h"
#include "lab/learner.h"
#include "lab/spread.h"
#include "models/transformer.h"
#include "train/dice.h"

namespace headlight::lab {
namespace {

constexpr Index kSymbols = 16;
constexpr double kFloor = 0.6931471805599453;  // ln 2: nobody can guess a coin toss better

struct Plan {
  Index window = 32, rows = 16, width = 32;
  std::int64_t steps = 600;
  int seeds = 5;
  Index texts = 64, prompt = 8;  // written at the end
};

Plan plan_of(const LabOptions& options) {
  if (!options.quick) return {};
  return {.window = 16, .rows = 16, .width = 24, .steps = 250, .seeds = 2, .texts = 24, .prompt = 5};
}

// After symbol s comes 2s+1 or 2s+2 (counted around), a coin toss each time.
class CoinText : public train::Task {
 public:
  CoinText(const Plan& plan, std::uint64_t seed) : plan_(plan), seed_(seed) {}

  [[nodiscard]] static bool follows(std::int32_t before, std::int32_t after) {
    const Index first = (2 * Index{before} + 1) % kSymbols, second = (2 * Index{before} + 2) % kSymbols;
    return after == first || after == second;
  }
  [[nodiscard]] std::vector<std::int32_t> text(std::uint64_t number, Index length,
                                               train::Purpose purpose) const {
    train::Dice dice(seed_, purpose, number);
    std::vector<std::int32_t> ids = {static_cast<std::int32_t>(dice.below(kSymbols))};
    while (static_cast<Index>(ids.size()) < length)
      ids.push_back(static_cast<std::int32_t>((2 * Index{ids.back()} + 1 + dice.below(2)) % kSymbols));
    return ids;
  }
  void training_batch(std::int64_t number, models::Batch& batch) const override {
    fill(number, train::Purpose::batches, batch);
  }
  [[nodiscard]] Index evaluation_batches() const override { return 4; }
  void evaluation_batch(Index number, models::Batch& batch) const override {
    fill(number, train::Purpose::evaluation, batch);
  }
  [[nodiscard]] Index vocabulary() const override { return kSymbols; }
  [[nodiscard]] Index longest_source() const override { return 0; }
  [[nodiscard]] Index longest_input() const override { return plan_.window; }
  [[nodiscard]] double epochs(std::int64_t) const override { return 0; }
  [[nodiscard]] std::string describe() const override { return "symbols that follow a coin"; }

 private:
  void fill(std::int64_t number, train::Purpose purpose, models::Batch& batch) const {
    train::clear(batch);
    for (Index r = 0; r < plan_.rows; ++r) {
      const auto place = static_cast<std::uint64_t>(number * plan_.rows + r);
      const std::vector<std::int32_t> ids = text(place, plan_.window + 1, purpose);
      batch.input.append(std::span(ids).first(ids.size() - 1));
      batch.targets.insert(batch.targets.end(), ids.begin() + 1, ids.end());
    }
  }
  Plan plan_;
  std::uint64_t seed_;
};

enum class Mask { causal, none };

// The same layers and the same first parameters: an encoder is a decoder without the mask.
std::unique_ptr<models::Transformer> make_model(Mask mask, const Plan& plan, std::uint64_t seed) {
  models::TransformerConfig c = models::translation_config(
      {.vocabulary = kSymbols, .width = plan.width, .layers = 2, .heads = 2, .context = plan.window});
  c.kind = mask == Mask::causal ? models::ModelKind::decoder : models::ModelKind::encoder;
  auto model = std::make_unique<models::Transformer>(c);
  model->initialize(seed);
  return model;
}

struct Trial {
  std::vector<draw::Point> curve;  // loss of training
  double loss = 0;                 // of texts it has not seen, the future in sight when there is no mask
  double honest = 0;               // of the same texts, each symbol predicted from those before it alone
  double valid = 0;                // share of written symbols that may follow the one before
};

std::int32_t likeliest(const Tensor& logits) {
  const Index row = logits.dim(0) - 1;
  Index best = 0;
  for (Index v = 1; v < logits.dim(1); ++v)
    if (logits.at(row, v) > logits.at(row, best)) best = v;
  return static_cast<std::int32_t>(best);
}

// As one has to write: the future is not there, whatever the model was trained with.
void write_texts(Context& ctx, const models::Transformer& model, const CoinText& task, const Plan& plan,
                 Trial& trial) {
  models::Loss loss;
  Index valid = 0, written = 0;
  for (Index n = 0; n < plan.texts; ++n) {
    std::vector<std::int32_t> ids =
        task.text(static_cast<std::uint64_t>(n), plan.window + 1, train::Purpose::order);
    for (Index length = 2; length <= plan.window; length += 5) {
      models::Batch batch;
      batch.input.append(std::span(ids).first(static_cast<std::size_t>(length)));
      batch.targets.assign(static_cast<std::size_t>(length), models::kIgnored);
      batch.targets.back() = ids[static_cast<std::size_t>(length)];
      const models::Loss one = model.evaluate(ctx, batch);
      loss.plain += one.plain;
      loss.targets += one.targets;
    }
    ids.resize(static_cast<std::size_t>(plan.prompt));
    while (static_cast<Index>(ids.size()) < plan.window) {
      models::Tokens tokens;
      tokens.append(ids);
      const std::int32_t next = likeliest(model.logits(ctx, tokens));
      valid += CoinText::follows(ids.back(), next) ? 1 : 0;
      ++written;
      ids.push_back(next);
    }
  }
  trial.honest = loss.mean();
  trial.valid = static_cast<double>(valid) / static_cast<double>(written);
}

Trial run_one(Context& ctx, Mask mask, const Plan& plan, std::uint64_t seed,
              const std::function<void()>& on_step) {
  const CoinText task(plan, seed);
  std::unique_ptr<models::Transformer> made = make_model(mask, plan, seed);
  const models::Transformer& model = *made;
  Learner learner(ctx, std::move(made), task, {.steps = plan.steps, .rate = 4e-3});
  Trial trial;
  double sum = 0;
  constexpr int kEach = 10;
  while (!learner.finished()) {
    sum += learner.step() / kEach;
    if (learner.steps() % kEach == 0) {
      trial.curve.push_back({static_cast<double>(learner.steps()), sum});
      sum = 0;
    }
    on_step();
  }
  models::Loss loss;
  models::Batch batch;
  for (Index i = 0; i < task.evaluation_batches(); ++i) {
    task.evaluation_batch(i, batch);
    const models::Loss one = model.evaluate(ctx, batch);
    loss.plain += one.plain;
    loss.targets += one.targets;
  }
  trial.loss = loss.mean();
  write_texts(ctx, model, task, plan, trial);
  return trial;
}

Spread over(const std::vector<Trial>& trials, double Trial::*number) {
  std::vector<double> numbers;
  for (const Trial& trial : trials) numbers.push_back(trial.*number);
  return spread_of(numbers);
}

draw::Drawing figure_of(const std::vector<Trial>& with, const std::vector<Trial>& without) {
  draw::CurveChart chart;
  chart.title = "Predicting a coin toss, with and without the causal mask";
  chart.y_label = "training loss (nats per symbol)";
  chart.name_best = false;
  const auto add = [&](const std::vector<Trial>& trials, const std::string& label, std::size_t color) {
    for (std::size_t i = 0; i < trials.size(); ++i)
      chart.curves.push_back({i == 0 ? label : "", trials[i].curve, draw::curve_color(color), i == 0});
  };
  add(with, "with the mask", 0);
  add(without, "without", 1);
  const double end = with[0].curve.back().x;
  chart.curves.push_back({"ln 2, the least that honest guessing costs",
                          {{0, kFloor}, {end, kFloor}},
                          draw::curve_color(6),
                          false,
                          true});
  return draw::draw_curves(chart);
}

std::string json_of(const std::vector<Trial>& trials) {
  return fmt::format("{{\"loss\": {}, \"loss_without_future\": {}, \"valid\": {}}}",
                     spread_json(over(trials, &Trial::loss)), spread_json(over(trials, &Trial::honest)),
                     spread_json(over(trials, &Trial::valid)));
}

}  // namespace

Outcome run_mask(const LabOptions& options) {
  const Plan plan = plan_of(options);
  Context ctx({.threads = options.threads});
  const double total = 2.0 * plan.seeds * static_cast<double>(plan.steps);
  double done = 0;
  std::vector<Trial> with, without;
  for (int s = 0; s < plan.seeds; ++s) {
    const auto seed = options.seed + static_cast<std::uint64_t>(s);
    const auto train = [&](Mask mask) {
      return run_one(ctx, mask, plan, seed,
                     [&] { tell(options, ++done, total, "training with and without the mask"); });
    };
    with.push_back(train(Mask::causal));
    without.push_back(train(Mask::none));
  }
  const auto row = [&](const char* name, const std::vector<Trial>& trials) {
    const Spread valid = over(trials, &Trial::valid);
    return TableRow{name, plus_minus(over(trials, &Trial::loss)), plus_minus(over(trials, &Trial::honest)),
                    fmt::format("{:.0f} ± {:.0f} %", 100 * valid.mean, 100 * valid.deviation)};
  };
  const Spread honest = over(with, &Trial::loss), leak = over(without, &Trial::loss),
               good = over(with, &Trial::valid), bad = over(without, &Trial::valid);
  Outcome out;
  out.finding = fmt::format(
      "Without the causal mask the loss falls to {:.3f} nats, far below ln 2 = 0.693, which is the least "
      "that a coin "
      "toss can be predicted with: the model reads the answer off the next position. Asked to write, when "
      "there is no "
      "next position, it follows the text's rule in {:.0f} % of its symbols; with the mask, whose loss is an "
      "honest "
      "{:.3f}, in {:.0f} %. A loss that is too good is a leak.",
      leak.mean, 100 * bad.mean, honest.mean, 100 * good.mean);
  out.text =
      with_note(table_text({"", "loss", "loss, future cut off", "follows the rule"},
                           {row("with the mask", with), row("without", without)}),
                fmt::format("{} seeds from {} on, ± one deviation. Each symbol has two successors, by a coin "
                            "toss; chance follows the rule in {:.1f} %.",
                            plan.seeds, options.seed, 100 * 2.0 / kSymbols),
                options.width);
  out.json = fmt::format("{{\"floor\": {:.6f}, \"with_mask\": {}, \"without\": {}}}\n", kFloor, json_of(with),
                         json_of(without));
  out.figure = figure_of(with, without);
  out.holds = leak.high < 0.5 * kFloor && honest.low > 0.95 * kFloor && good.low > 0.9 && bad.high < good.low;
  return out;
}

}  // namespace headlight::lab
