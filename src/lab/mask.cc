// Information leak without the causal mask: a text whose next symbol is a coin toss, predicted with and without the mask.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "draw/curves.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/spread.h"
#include "models/generate.h"
#include "train/dice.h"
#include "train/learner.h"

namespace headlight::lab {
namespace {

constexpr Index kSymbols = 16, kEnd = kSymbols;

struct Setup {
  Index window = 32, rows = 16, width = 32;
  std::int64_t steps = 1000;
  int seeds = 5;
  Index texts = 64, prompt = 8;  // written at the end

  // The best possible loss: coin tosses, except at the end of the text, whose position is known.
  [[nodiscard]] double floor() const {
    return std::numbers::ln2 * static_cast<double>(window - 1) / static_cast<double>(window);
  }
};

Setup setup_of(const LabOptions& options) {
  if (!options.quick) return {};
  return {.window = 16, .rows = 16, .width = 24, .steps = 400, .seeds = 2, .texts = 24, .prompt = 5};
}

// After symbol s comes 2s+1 or 2s+2 (modulo the alphabet), each with probability 1/2; then the end. Texts are complete, as in
// translation, so that a model without a mask can read every symbol but the first.
class CoinText : public train::Task {
 public:
  CoinText(const Setup& setup, std::uint64_t seed) : setup_(setup), seed_(seed) {}

  [[nodiscard]] static bool follows(Index before, Index next) {
    return before != kEnd && (next == (2 * before + 1) % kSymbols || next == (2 * before + 2) % kSymbols);
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
  [[nodiscard]] Index vocabulary() const override { return kSymbols + 1; }
  [[nodiscard]] Index longest_source() const override { return 0; }
  [[nodiscard]] Index longest_input() const override { return setup_.window; }
  [[nodiscard]] double epochs(std::int64_t) const override { return 0; }
  [[nodiscard]] std::string describe() const override { return "symbols that follow a coin"; }

 private:
  void fill(std::int64_t number, train::Purpose purpose, models::Batch& batch) const {
    train::clear(batch);
    for (Index r = 0; r < setup_.rows; ++r) {
      const auto place = static_cast<std::uint64_t>(number * setup_.rows + r);
      const std::vector<std::int32_t> ids = text(place, setup_.window, purpose);
      batch.input.append(ids);
      batch.targets.insert(batch.targets.end(), ids.begin() + 1, ids.end());
      batch.targets.push_back(kEnd);
    }
  }
  Setup setup_;
  std::uint64_t seed_;
};

enum class Mask { causal, none };

// The same layers and initial parameters: an encoder is a decoder without the mask.
std::unique_ptr<models::Transformer> make_model(Mask mask, const Setup& setup, std::uint64_t seed) {
  models::TransformerConfig c = models::translation_config(
      {.vocabulary = kSymbols + 1, .width = setup.width, .layers = 2, .heads = 2, .context = setup.window});
  if (mask == Mask::none) {
    c.kind = models::ModelKind::encoder;
    c.decoder.clear();
  } else {
    c.kind = models::ModelKind::decoder;
    for (nn::BlockConfig& block : c.decoder) block.cross.reset();
    c.encoder.clear();
  }
  auto model = std::make_unique<models::Transformer>(c);
  model->initialize(seed);
  return model;
}

struct Trial {
  std::vector<draw::Point> curve;  // loss of training
  double loss = 0;                 // on held-out texts; without a mask, the future is visible
  double honest = 0;               // loss of the same texts with the future cut off
  double valid = 0;                // share of generated symbols that may follow the previous one
};

// The loss in generation: each symbol predicted from the beginning of the text, without later tokens.
double loss_without_future(Context& ctx, const models::Transformer& model, const CoinText& task,
                           const Setup& setup) {
  models::Batch batch;
  for (Index n = 0; n < setup.texts; ++n) {
    const std::vector<std::int32_t> ids =
        task.text(static_cast<std::uint64_t>(n), setup.window, train::Purpose::order);
    for (Index length = 2; length < setup.window; length += 3) {
      batch.input.append(std::span(ids).first(static_cast<std::size_t>(length)));
      batch.targets.insert(batch.targets.end(), static_cast<std::size_t>(length - 1), models::kIgnored);
      batch.targets.push_back(ids[static_cast<std::size_t>(length)]);
    }
  }
  return model.evaluate(ctx, batch).mean();
}

// All texts at once, each symbol sampled from the model's probabilities.
double share_that_follows(Context& ctx, const models::Transformer& model, const CoinText& task,
                          const Setup& setup, std::uint64_t seed) {
  std::vector<std::vector<std::int32_t>> texts;
  for (Index n = 0; n < setup.texts; ++n)
    texts.push_back(task.text(static_cast<std::uint64_t>(n), setup.prompt, train::Purpose::order));
  const models::SamplingOptions draw{.temperature = 1, .seed = seed};
  Index valid = 0, written = 0;
  for (Index length = setup.prompt; length < setup.window; ++length) {
    models::Tokens tokens;
    for (const auto& text : texts) tokens.append(text);
    const Tensor logits = model.logits(ctx, tokens);
    for (std::size_t n = 0; n < texts.size(); ++n) {
      const ConstTensorView row(logits.as<float>() + (tokens.starts[n + 1] - 1) * logits.dim(1),
                                {logits.dim(1)});
      const std::int32_t next = models::choose_token(row, draw, static_cast<Index>(n), length);
      valid += CoinText::follows(texts[n].back(), next) ? 1 : 0;
      ++written;
      texts[n].push_back(next);
    }
  }
  return static_cast<double>(valid) / static_cast<double>(written);
}

Trial run_one(Context& ctx, Mask mask, const Setup& setup, std::uint64_t seed,
              const std::function<void()>& on_step) {
  const CoinText task(setup, seed);
  std::unique_ptr<models::Transformer> made = make_model(mask, setup, seed);
  const models::Transformer& model = *made;
  train::Learner learner(ctx, std::move(made), task, {.steps = setup.steps, .rate = 4e-3});
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
  trial.honest = loss_without_future(ctx, model, task, setup);
  trial.valid = share_that_follows(ctx, model, task, setup, seed);
  return trial;
}

Spread over(const std::vector<Trial>& trials, double Trial::*number) {
  std::vector<double> numbers;
  numbers.reserve(trials.size());
  for (const Trial& trial : trials) numbers.push_back(trial.*number);
  return spread_of(numbers);
}

draw::Drawing figure_of(const Setup& setup, const std::vector<Trial>& with,
                        const std::vector<Trial>& without) {
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
  chart.curves.push_back({"lowest loss without the leak",
                          {{0, setup.floor()}, {end, setup.floor()}},
                          draw::curve_color(6),
                          false,
                          true});
  return draw::draw_curves(chart);
}

void write(io::JsonWriter& w, const std::vector<Trial>& trials) {
  lab::write(w.begin_object().key("loss"), over(trials, &Trial::loss));
  lab::write(w.key("loss_without_future"), over(trials, &Trial::honest));
  lab::write(w.key("valid"), over(trials, &Trial::valid));
  w.end_object();
}

}  // namespace

Outcome run_mask(const LabOptions& options) {
  const Setup setup = setup_of(options);
  Context ctx({.threads = options.threads});
  const double total = 2.0 * setup.seeds * static_cast<double>(setup.steps);
  double done = 0;
  std::vector<Trial> with, without;
  for (int s = 0; s < setup.seeds; ++s) {
    const auto seed = options.seed + static_cast<std::uint64_t>(s);
    const auto train = [&](Mask mask) {
      return run_one(ctx, mask, setup, seed,
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
               seeing = over(with, &Trial::honest), blind = over(without, &Trial::honest);
  Outcome out;
  out.finding = fmt::format(
      "Without the causal mask the loss falls to {:.3f} nats, far below {:.3f}, the lowest possible loss for "
      "coin tosses: the model reads each answer from the next position. In generation there is no next "
      "position, and its loss is {:.2f}, as if it chose among {:.1f} symbols instead of 2; with the mask it "
      "stays {:.2f}. A loss that is too good is a leak.",
      leak.mean, setup.floor(), blind.mean, std::exp(blind.mean), seeing.mean);
  out.text = with_note(
      table_text({"", "loss", "loss, future cut off", "follows the rule"},
                 {row("with the mask", with), row("without", without)}),
      fmt::format("{} seeds from {} on, ± one standard deviation. Each symbol has two possible successors, "
                  "chosen by a coin toss. follows the rule: share of generated symbols that are possible "
                  "successors; chance level is {:.1f} %. Without the mask the model may still follow the "
                  "rule, learnt before it found the leak, but it is certain where only a coin toss decides.",
                  setup.seeds, options.seed, 100 * 2.0 / (kSymbols + 1)),
      options.width);
  io::JsonWriter w;
  write(w.begin_object().field("floor", io::decimals(setup.floor(), 6)).key("with_mask"), with);
  write(w.key("without"), without);
  out.json = w.end_object().take_line();
  out.figure = figure_of(setup, with, without);
  out.holds = leak.high < 0.7 * setup.floor() && honest.low > 0.95 * setup.floor() &&
              blind.low > 1.5 * seeing.high && over(with, &Trial::valid).low > 0.8;
  return out;
}

}  // namespace headlight::lab
