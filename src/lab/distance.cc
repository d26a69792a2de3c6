// Attention against recurrence: recall of a fact at growing distances.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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
  Index symbols = 4, pairs = 4, rows = 32, longest = 128;
  std::vector<Index> distances = {8, 32, 128};  // distances at which accuracy is measured
  std::int64_t steps = 1000, every = 50;
  Index width = 64;
  int seeds = 3;
  std::vector<double> rates = {1e-3, 2e-3, 4e-3, 8e-3};  // the best is chosen for each kind of model
};

Setup setup_of(const LabOptions& options) {
  if (!options.quick) return {};
  return {.symbols = 4,
          .pairs = 2,
          .rows = 16,
          .longest = 64,
          .distances = {8, 64},
          .steps = 150,
          .every = 25,
          .width = 32,
          .seeds = 1,
          .rates = {3e-3}};
}

enum class Kind { attention, gru, lstm };
constexpr std::array<Kind, 3> kKinds = {Kind::attention, Kind::gru, Kind::lstm};
constexpr std::array<const char*, 3> kNames = {"attention", "GRU", "LSTM"};

train::SyntheticConfig task_config(const Setup& setup, Index distance, std::uint64_t seed) {
  train::SyntheticConfig c;
  c.kind = train::SyntheticKind::recall;
  c.symbols = setup.symbols;
  c.pairs = setup.pairs;
  c.rows = setup.rows;
  c.length = distance;
  c.evaluation_rows = 64;
  c.seed = seed;
  return c;
}

// Two layers of each kind. Slow rotations, so that queries match keys at a long distance.
std::unique_ptr<models::Trainable> make_model(Kind kind, const Setup& setup, Index vocabulary,
                                              std::uint64_t seed) {
  std::unique_ptr<models::Trainable> model;
  if (kind == Kind::attention) {
    const Index context = *std::max_element(setup.distances.begin(), setup.distances.end()) + 64;
    models::TransformerConfig c = models::llama_config(
        {.vocabulary = vocabulary, .width = setup.width, .layers = 2, .heads = 2, .context = context});
    models::set_positions(c, models::PositionKind::rope, {.theta = 1e6});
    c.head.tied = false;
    model = std::make_unique<models::Transformer>(c);
  } else {
    models::RecurrentModelConfig c;
    c.cell = kind == Kind::gru ? nn::CellKind::gru : nn::CellKind::lstm;
    c.vocabulary = vocabulary;
    c.width = setup.width;
    c.layers = 2;
    c.tied = false;
    model = std::make_unique<models::RecurrentModel>(c);
  }
  model->initialize(seed);
  return model;
}

struct Trial {
  std::vector<double> accuracy;  // at each distance
  std::vector<double> gradient;  // at the fact, by distance, before training
  double steps_to_learn = NAN;   // steps until 90 % at the longest distance of the training; NaN: never
  Index parameters = 0;
  TunedRate tuned;
};

// The gradient of one answer's loss with respect to the embedding at the fact's position: one fact, then noise,
// then the question. The table of embeddings is not shared with the output, and the fact's token occurs nowhere else.
double gradient_at_fact(Context& ctx, models::Trainable& model, const Setup& setup, Index distance,
                        std::uint64_t seed) {
  train::SyntheticConfig config = task_config(setup, distance, seed);
  config.pairs = 1;
  config.rows = config.evaluation_rows = 4;
  const train::SyntheticTask task(config);
  models::Batch all;
  task.evaluation_batch(0, all);
  double sum = 0;
  for (Index row = 0; row < all.input.sequences(); ++row) {
    const auto begin = all.input.starts[static_cast<std::size_t>(row)],
               end = all.input.starts[static_cast<std::size_t>(row) + 1];
    models::Batch one;
    one.input.append({all.input.ids.data() + begin, static_cast<std::size_t>(end - begin)});
    one.targets.assign(all.targets.begin() + begin, all.targets.begin() + end);
    for (Parameter* p : model.parameters()) p->grad = Tensor(p->value.shape(), p->value.dtype());
    (void)model.learn(ctx, one, {});
    const Parameter& table = *model.parameters().front();
    double square = 0;
    for (Index i = 0; i < table.grad.dim(1); ++i) {
      const double g = table.grad.at(one.input.ids[1], i);
      square += g * g;
    }
    sum += std::sqrt(square);
  }
  return sum / static_cast<double>(all.input.sequences());
}

class Race {
 public:
  Race(Context& ctx, const LabOptions& options, const Setup& setup)
      : ctx_(ctx), options_(options), setup_(setup) {}

  Trial run(Kind kind, double rate, std::uint64_t seed) {
    const train::SyntheticTask task(task_config(setup_, setup_.longest, seed));
    std::unique_ptr<models::Trainable> model = make_model(kind, setup_, task.vocabulary(), seed);
    Trial trial;
    trial.parameters = train::parameters_of(*model);
    trial.tuned.rate = rate;
    for (const Index distance : setup_.distances)
      trial.gradient.push_back(gradient_at_fact(ctx_, *model, setup_, distance, seed));
    train::Learner learner(ctx_, std::move(model), task, {.steps = setup_.steps, .rate = rate});
    while (!learner.finished()) {
      (void)learner.step();
      ++done_;  // more runs than planned if rates beyond the grid are tried
      tell(options_, done_, std::max(done_, total()),
           fmt::format("{} learns to recall", kNames[static_cast<std::size_t>(kind)]));
      if (std::isnan(trial.steps_to_learn) && learner.steps() % setup_.every == 0 &&
          learner.accuracy(task) >= 0.9)
        trial.steps_to_learn = static_cast<double>(learner.steps());
    }
    for (const Index distance : setup_.distances) {
      const train::SyntheticTask far(task_config(setup_, distance, seed));
      trial.accuracy.push_back(learner.accuracy(far));
    }
    return trial;
  }

 private:
  [[nodiscard]] double total() const {
    const double tries = setup_.rates.size() > 1 ? static_cast<double>(setup_.rates.size()) : 0;
    return static_cast<double>(kKinds.size()) * (setup_.seeds + tries) * static_cast<double>(setup_.steps);
  }
  Context& ctx_;
  const LabOptions& options_;
  const Setup& setup_;
  double done_ = 0;
};

using Trials = std::vector<Trial>;  // one for each seed

Spread over(const Trials& trials, std::vector<double> Trial::*list, std::size_t at) {
  std::vector<double> numbers;
  for (const Trial& trial : trials) numbers.push_back((trial.*list)[at]);
  return spread_of(numbers);
}

std::string steps_text(const Trials& trials) {
  std::vector<double> numbers;
  for (const Trial& trial : trials)
    if (std::isfinite(trial.steps_to_learn)) numbers.push_back(trial.steps_to_learn);
  if (numbers.empty()) return "never";
  std::string text = fmt::format("{:.0f}", spread_of(numbers).mean);
  return numbers.size() == trials.size() ? text
                                         : fmt::format("{} ({} of {})", text, numbers.size(), trials.size());
}

std::string tables(const Setup& setup, const std::vector<Trials>& all) {
  TableRow heading = {"right answers, %"};
  for (const Index distance : setup.distances) heading.push_back(fmt::format("{}", distance));
  heading.push_back("learnt at");
  heading.insert(heading.end(), {"parameters", "rate"});
  std::vector<TableRow> accuracy, gradient;
  for (std::size_t k = 0; k < all.size(); ++k) {
    TableRow row = {kNames[k]}, slopes = {kNames[k]};
    for (std::size_t d = 0; d < setup.distances.size(); ++d) {
      Spread s = over(all[k], &Trial::accuracy, d);
      row.push_back(fmt::format("{:.0f} ± {:.0f}", 100 * s.mean, 100 * s.deviation));
      slopes.push_back(fmt::format("{:.1e}", over(all[k], &Trial::gradient, d).mean));
    }
    row.push_back(steps_text(all[k]));
    row.push_back(fmt::format("{}", all[k].front().parameters));
    row.push_back(fmt::format("{:g}", all[k].front().tuned.rate));
    accuracy.push_back(row);
    gradient.push_back(slopes);
  }
  TableRow slopes_heading = {"gradient at the fact"};
  slopes_heading.insert(slopes_heading.end(), heading.begin() + 1,
                        heading.begin() + 1 + static_cast<std::ptrdiff_t>(setup.distances.size()));
  return fmt::format("tokens between fact and question:\n{}\nbefore any training:\n{}",
                     table_text(heading, accuracy), table_text(slopes_heading, gradient));
}

std::string json_of(const Setup& setup, const std::vector<Trials>& all) {
  io::JsonWriter w;
  w.begin_object().field("distances", setup.distances).field("trained_to", setup.longest);
  w.field("steps", setup.steps).key("models").begin_list(io::JsonLayout::lines);
  for (std::size_t k = 0; k < all.size(); ++k) {
    w.begin_object().field("model", kNames[k]).field("parameters", all[k].front().parameters);
    w.field("rate", all[k].front().tuned.rate);
    write_tried(w, all[k].front().tuned);
    w.key("accuracy").begin_list();
    for (std::size_t d = 0; d < setup.distances.size(); ++d) write(w, over(all[k], &Trial::accuracy, d));
    w.end_list().key("gradient").begin_list();
    for (std::size_t d = 0; d < setup.distances.size(); ++d) write(w, over(all[k], &Trial::gradient, d));
    w.end_list();
    std::vector<double> steps;
    for (const Trial& trial : all[k]) steps.push_back(trial.steps_to_learn);
    w.field("steps_to_learn", rounded(steps)).end_object();
  }
  return w.end_list().end_object().take_line();
}

draw::Drawing figure_of(const Setup& setup, const std::vector<Trials>& all) {
  draw::CurveChart chart;
  chart.title = "Recall at a distance";
  chart.x_label = "tokens between fact and question";
  chart.y_label = "right answers";
  chart.higher_is_better = true;
  chart.x_axis = draw::AxisKind::logarithmic;
  chart.name_best = false;
  for (std::size_t k = 0; k < all.size(); ++k) {
    draw::Curve curve{.label = kNames[k], .points = {}, .color = draw::curve_color(k), .strong = true};
    for (std::size_t d = 0; d < setup.distances.size(); ++d) {
      const Spread s = over(all[k], &Trial::accuracy, d);
      curve.points.push_back({static_cast<double>(setup.distances[d]), s.mean});
      curve.spread.push_back({s.low, s.high});
    }
    chart.curves.push_back(std::move(curve));
  }
  draw::Curve chance{.label = "chance", .points = {}, .color = draw::curve_color(7), .guide = true};
  for (const Index distance : {setup.distances.front(), setup.distances.back()})
    chance.points.push_back({static_cast<double>(distance), 1.0 / static_cast<double>(setup.symbols)});
  chart.curves.push_back(std::move(chance));
  for (const Index distance : setup.distances) chart.x_ticks.push_back(static_cast<double>(distance));
  return draw::draw_curves(chart);
}

}  // namespace

Outcome run_distance(const LabOptions& options) {
  const Setup setup = setup_of(options);
  Context ctx({.threads = options.threads});
  const TensorRecycler recycler;
  Race race(ctx, options, setup);
  std::vector<Trials> all(kKinds.size());
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    const TunedRate tuned = tuned_rate(setup.rates, [&](double tried) {
      return spread_of(race.run(kKinds[k], tried, options.seed + kTuningSeed).accuracy).mean;
    });
    for (int i = 0; i < setup.seeds; ++i) {
      all[k].push_back(race.run(kKinds[k], tuned.rate, options.seed + static_cast<std::uint64_t>(i)));
      all[k].back().tuned = tuned;
    }
  }

  const auto at = static_cast<std::size_t>(
      std::find(setup.distances.begin(), setup.distances.end(), setup.longest) - setup.distances.begin());
  const auto faded = [&](std::size_t k) {
    return over(all[k], &Trial::gradient, at).mean / over(all[k], &Trial::gradient, 0).mean;
  };
  // "Nothing is left" if it is too small for a float.
  const auto share = [&](std::size_t k) {
    return faded(k) > 0 ? fmt::format("1/{:.3g}", 1 / faded(k)) : std::string("0");
  };
  Outcome out;
  out.finding = fmt::format(
      "With {} tokens between fact and question and after {} steps, two layers of attention are right {:.0f} "
      "% of the time, a GRU {:.0f} %, an LSTM {:.0f} %; chance level is {:.0f} %. From {} to {} tokens, the "
      "gradient at the fact falls to {} in attention, to {} in the GRU, to {} in the LSTM.",
      setup.longest, setup.steps, 100 * over(all[0], &Trial::accuracy, at).mean,
      100 * over(all[1], &Trial::accuracy, at).mean, 100 * over(all[2], &Trial::accuracy, at).mean,
      100.0 / static_cast<double>(setup.symbols), setup.distances.front(), setup.longest, share(0), share(1),
      share(2));
  out.text = with_note(
      tables(setup, all),
      fmt::format("{} steps of {} sequences, noise of up to {} tokens, {} seed{}. Learnt at: the first "
                  "step with 90 % right. {}",
                  setup.steps, setup.rows, setup.longest, setup.seeds, setup.seeds == 1 ? "" : "s",
                  tuning_text(setup.rates)),
      options.width);
  out.json = json_of(setup, all);
  out.figure = figure_of(setup, all);
  const double attention = over(all[0], &Trial::accuracy, at).mean;
  out.holds = attention > over(all[1], &Trial::accuracy, at).mean &&
              attention > over(all[2], &Trial::accuracy, at).mean && faded(0) > faded(1) &&
              faded(0) > faded(2);
  return out;
}

}  // namespace headlight::lab
