// One vector for a whole list, or attention to every element: models repeat lists in reverse order.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "draw/curves.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/spread.h"
#include "lab/tuning.h"
#include "models/recurrent.h"
#include "models/transformer.h"
#include "train/learner.h"
#include "train/synthetic_task.h"

namespace headlight::lab {
namespace {

struct Setup {
  Index symbols = 16, longest = 24, rows = 32, width = 64;
  std::vector<Index> lengths = {2, 8, 16, 24};  // lengths at which accuracy is measured
  std::int64_t steps = 1200;
  int seeds = 3;
  std::vector<double> rates = {1e-3, 2e-3, 4e-3, 8e-3};  // the best is chosen for each kind of model
};

Setup setup_of(const LabOptions& options) {
  if (!options.quick) return {};
  return {.symbols = 8,
          .longest = 10,
          .rows = 16,
          .width = 32,
          .lengths = {2, 10},
          .steps = 400,
          .seeds = 1,
          .rates = {4e-3}};
}

enum class Kind { vector, additive, transformer };
constexpr std::array<Kind, 3> kKinds = {Kind::vector, Kind::additive, Kind::transformer};
constexpr std::array<const char*, 3> kNames = {"GRU, one vector", "GRU, attention", "transformer"};

train::SyntheticConfig task_config(const Setup& setup, Index shortest, Index longest, std::uint64_t seed) {
  train::SyntheticConfig c;
  c.kind = train::SyntheticKind::reverse;
  c.symbols = setup.symbols;
  c.shortest = shortest;
  c.length = longest;
  c.rows = setup.rows;
  c.evaluation_rows = 64;
  c.with_source = true;
  c.seed = seed;
  return c;
}

std::unique_ptr<models::Trainable> make_model(Kind kind, const Setup& setup, Index vocabulary,
                                              std::uint64_t seed) {
  std::unique_ptr<models::Trainable> model;
  if (kind == Kind::transformer) {
    models::TransformerConfig c = models::translation_config({.vocabulary = vocabulary,
                                                              .width = setup.width,
                                                              .layers = 1,
                                                              .heads = 4,
                                                              .context = setup.longest + 2});
    models::each_layer(c, [&](nn::BlockConfig& block) {
      block.feed_forward.inner = 2 * setup.width;  // about as many parameters as the other models
    });
    model = std::make_unique<models::Transformer>(c);
  } else {
    models::RecurrentModelConfig c;
    c.encoder_decoder = true;
    c.attention = kind == Kind::additive;
    c.vocabulary = vocabulary;
    c.width = setup.width;
    c.layers = 1;
    model = std::make_unique<models::RecurrentModel>(c);
  }
  model->initialize(seed);
  return model;
}

struct Trial {
  std::vector<double> accuracy;  // at each length
  Index parameters = 0;
  TunedRate tuned;
};
using Trials = std::vector<Trial>;

Spread over(const Trials& trials, std::size_t at) {
  std::vector<double> numbers;
  for (const Trial& trial : trials) numbers.push_back(trial.accuracy[at]);
  return spread_of(numbers);
}

Trial run_one(Context& ctx, Kind kind, const Setup& setup, double rate, std::uint64_t seed,
              const std::function<void()>& on_step) {
  const train::SyntheticTask task(task_config(setup, 1, setup.longest, seed));
  Trial trial;
  std::unique_ptr<models::Trainable> model = make_model(kind, setup, task.vocabulary(), seed);
  trial.parameters = train::parameters_of(*model);
  trial.tuned.rate = rate;
  train::Learner learner(ctx, std::move(model), task, {.steps = setup.steps, .rate = rate});
  while (!learner.finished()) {
    (void)learner.step();
    on_step();
  }
  for (const Index length : setup.lengths) {
    const train::SyntheticTask exact(task_config(setup, length, length, seed));
    trial.accuracy.push_back(learner.accuracy(exact));
  }
  return trial;
}

std::string table(const Setup& setup, const std::vector<Trials>& all) {
  TableRow heading = {"right symbols, %"};
  for (const Index length : setup.lengths) heading.push_back(fmt::format("{}", length));
  heading.insert(heading.end(), {"parameters", "rate"});
  std::vector<TableRow> rows;
  for (std::size_t k = 0; k < all.size(); ++k) {
    TableRow row = {kNames[k]};
    for (std::size_t i = 0; i < setup.lengths.size(); ++i) {
      const Spread s = over(all[k], i);
      row.push_back(fmt::format("{:.0f} ± {:.0f}", 100 * s.mean, 100 * s.deviation));
    }
    row.push_back(fmt::format("{}", all[k].front().parameters));
    row.push_back(fmt::format("{:g}", all[k].front().tuned.rate));
    rows.push_back(row);
  }
  return "symbols in the list:\n" + table_text(heading, rows);
}

std::string json_of(const Setup& setup, const std::vector<Trials>& all) {
  io::JsonWriter w;
  w.begin_object().field("lengths", setup.lengths).field("steps", setup.steps);
  w.key("models").begin_list(io::JsonLayout::lines);
  for (std::size_t k = 0; k < all.size(); ++k) {
    w.begin_object().field("model", kNames[k]).field("parameters", all[k].front().parameters);
    w.field("rate", all[k].front().tuned.rate);
    write_tried(w, all[k].front().tuned);
    w.key("accuracy").begin_list();
    for (std::size_t i = 0; i < setup.lengths.size(); ++i) write(w, over(all[k], i));
    w.end_list().end_object();
  }
  return w.end_list().end_object().take_line();
}

draw::Drawing figure_of(const Setup& setup, const std::vector<Trials>& all) {
  draw::CurveChart chart;
  chart.title = "Repeating a list in reverse";
  chart.x_label = "symbols in the list";
  chart.y_label = "right symbols";
  chart.higher_is_better = true;
  chart.name_best = false;
  for (std::size_t k = 0; k < all.size(); ++k) {
    draw::Curve curve{.label = kNames[k], .points = {}, .color = draw::curve_color(k), .strong = true};
    for (std::size_t i = 0; i < setup.lengths.size(); ++i) {
      const Spread s = over(all[k], i);
      curve.points.push_back({static_cast<double>(setup.lengths[i]), s.mean});
      curve.spread.push_back({s.low, s.high});
    }
    chart.curves.push_back(std::move(curve));
  }
  for (const Index length : setup.lengths) chart.x_ticks.push_back(static_cast<double>(length));
  return draw::draw_curves(chart);
}

}  // namespace

Outcome run_bottleneck(const LabOptions& options) {
  const Setup setup = setup_of(options);
  Context ctx({.threads = options.threads});
  const TensorRecycler recycler;
  std::vector<Trials> all(kKinds.size());
  double done = 0;
  const double tries = setup.rates.size() > 1 ? static_cast<double>(setup.rates.size()) : 0;
  const double total =
      static_cast<double>(kKinds.size()) * (setup.seeds + tries) * static_cast<double>(setup.steps);
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    const auto learn = [&](double rate, std::uint64_t seed) {
      return run_one(ctx, kKinds[k], setup, rate, options.seed + seed, [&] {
        ++done;  // more runs than planned if rates beyond the grid are tried
        tell(options, done, std::max(done, total), fmt::format("{} learns", kNames[k]));
      });
    };
    const TunedRate tuned = tuned_rate(
        setup.rates, [&](double tried) { return spread_of(learn(tried, kTuningSeed).accuracy).mean; });
    for (int i = 0; i < setup.seeds; ++i) {
      all[k].push_back(learn(tuned.rate, static_cast<std::uint64_t>(i)));
      all[k].back().tuned = tuned;
    }
  }
  const std::size_t last = setup.lengths.size() - 1;
  Outcome out;
  out.finding = fmt::format(
      "A GRU that stores a list of {} symbols in one vector repeats {:.0f} % of them correctly in reverse; "
      "the same GRU with attention to every symbol {:.0f} %; a transformer {:.0f} %. With {} symbols it is "
      "{:.0f}, {:.0f} and {:.0f} %.",
      setup.lengths[last], 100 * over(all[0], last).mean, 100 * over(all[1], last).mean,
      100 * over(all[2], last).mean, setup.lengths[0], 100 * over(all[0], 0).mean, 100 * over(all[1], 0).mean,
      100 * over(all[2], 0).mean);
  out.text = with_note(table(setup, all),
                       fmt::format("{} steps of {} lists of 1 to {} of {} symbols, {} seed{}. {}",
                                   setup.steps, setup.rows, setup.longest, setup.symbols, setup.seeds,
                                   setup.seeds == 1 ? "" : "s", tuning_text(setup.rates)),
                       options.width);
  out.json = json_of(setup, all);
  out.figure = figure_of(setup, all);
  out.holds =
      over(all[1], last).mean > over(all[0], last).mean && over(all[2], last).mean > over(all[0], last).mean;
  return out;
}

}  // namespace headlight::lab
