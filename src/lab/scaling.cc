// Why scores are divided by √d: their variance, and training with and without the scale.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/curves.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/scaling.h"
#include "lab/spread.h"
#include "models/numbers.h"
#include "models/transformer.h"
#include "train/learner.h"
#include "train/synthetic_task.h"

namespace headlight::lab {
namespace {

struct Setup {
  std::vector<Index> dims = {4, 16, 64, 256, 1024};
  Index keys = 64, queries = 60;
  Index width = 128;  // of the model that is trained: one head of this size
  std::int64_t steps = 500;
  Index rows = 32;
  int seeds = 3;
};

Setup setup_of(const LabOptions& options) {
  if (!options.quick) return {};
  return {.dims = {4, 64, 256}, .keys = 64, .queries = 40, .width = 64, .steps = 120, .rows = 16, .seeds = 1};
}

enum class Way { scaled, plain };
constexpr std::array<Way, 2> kWays = {Way::scaled, Way::plain};
constexpr std::array<const char*, 2> kNames = {"divided by √d", "not divided"};

struct Draw {
  double variance = 0;  // of q·k
  std::array<Softness, 2> ways;
};

Softness softness_of(const std::vector<double>& scores, double scale) {
  double top = -INFINITY, sum = 0;
  for (const double s : scores) top = std::max(top, s * scale);
  std::vector<double> p;
  p.reserve(scores.size());
  for (const double s : scores) p.push_back(std::exp(s * scale - top));
  for (const double x : p) sum += x;
  Softness result;
  double squares = 0, fourths = 0, cubes = 0;
  for (double& x : p) {
    x /= sum;
    if (x > 0) result.entropy -= x * std::log(x);
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
  }
  result.entropy /= std::log(static_cast<double>(scores.size()));
  // |diag(p) - p·pᵀ|² = Σ p_i²(1-p_i)² + Σ_{i≠j} p_i²·p_j²
  result.gradient = std::sqrt(std::max(0.0, squares - 2 * cubes + fourths + squares * squares - fourths));
  return result;
}

Draw draw_scores(const Setup& setup, Index dim, std::uint64_t seed) {
  const models::InitialNumbers numbers(seed, static_cast<std::size_t>(dim));
  Draw result;
  Index at = 0;
  std::vector<double> q(static_cast<std::size_t>(dim)), scores(static_cast<std::size_t>(setup.keys));
  for (Index i = 0; i < setup.queries; ++i) {
    for (double& x : q) x = numbers.normal(at++);
    for (double& s : scores) {
      s = 0;
      for (const double x : q) s += x * numbers.normal(at++);
      result.variance += s * s / static_cast<double>(setup.queries * setup.keys);
    }
    for (std::size_t w = 0; w < kWays.size(); ++w) {
      const double scale = kWays[w] == Way::scaled ? 1 / std::sqrt(static_cast<double>(dim)) : 1;
      const Softness one = softness_of(scores, scale);
      result.ways[w].entropy += one.entropy / static_cast<double>(setup.queries);
      result.ways[w].gradient += one.gradient / static_cast<double>(setup.queries);
    }
  }
  return result;
}

// A model with one wide head whose queries and keys start with variance 1, on recall over a short distance.
double train_one(Context& ctx, const Setup& setup, Way way, std::uint64_t seed,
                 const std::function<void()>& on_step) {
  train::SyntheticConfig config;
  config.kind = train::SyntheticKind::recall;
  config.symbols = 8;
  config.pairs = 4;
  config.length = 16;
  config.rows = setup.rows;
  config.seed = seed;
  const train::SyntheticTask task(config);
  models::TransformerConfig c = models::llama_config(
      {.vocabulary = task.vocabulary(), .width = setup.width, .layers = 1, .heads = 1, .context = 64});
  models::set_positions(c, models::PositionKind::rope, {.theta = 1e6});
  c.initial_range = 1 / std::sqrt(static_cast<double>(setup.width));
  if (way == Way::plain)
    models::each_attention(c, [](nn::MultiHeadAttentionConfig& attention) { attention.scale = 1; });
  auto model = std::make_unique<models::Transformer>(c);
  model->initialize(seed);
  train::Learner learner(ctx, std::move(model), task, {.steps = setup.steps, .rate = 1e-3});
  while (!learner.finished()) {
    (void)learner.step();
    on_step();
  }
  return learner.accuracy(task);
}

struct Results {
  std::vector<std::vector<Draw>> draws;         // [dim][seed]
  std::array<std::vector<double>, 2> accuracy;  // [way][seed]

  template <class F>
  [[nodiscard]] Spread of(std::size_t dim, const F& f) const {
    std::vector<double> numbers;
    for (const Draw& draw : draws[dim]) numbers.push_back(f(draw));
    return spread_of(numbers);
  }
  [[nodiscard]] Spread entropy(std::size_t dim, std::size_t way) const {
    return of(dim, [&](const Draw& d) { return d.ways[way].entropy; });
  }
  [[nodiscard]] Spread gradient(std::size_t dim, std::size_t way) const {
    return of(dim, [&](const Draw& d) { return d.ways[way].gradient; });
  }
  [[nodiscard]] Spread variance(std::size_t dim) const {
    return of(dim, [](const Draw& d) { return d.variance; });
  }
};

std::string table(const Setup& setup, const Results& r) {
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < setup.dims.size(); ++i) {
    const Spread variance = r.variance(i);
    TableRow row = {fmt::format("d = {}", setup.dims[i]),
                    fmt::format("{:.1f} ± {:.1f}", variance.mean, variance.deviation)};
    for (std::size_t w = 0; w < kWays.size(); ++w) row.push_back(fmt::format("{:.3f}", r.entropy(i, w).mean));
    for (std::size_t w = 0; w < kWays.size(); ++w)
      row.push_back(fmt::format("{:.4f}", r.gradient(i, w).mean));
    rows.push_back(row);
  }
  std::string text =
      table_text({"", "variance of q·k", "entropy ÷√d", "as is", "gradient ÷√d", "as is"}, rows);
  text += fmt::format(
      "\n"
      "one head of width {}, trained {} steps on recall:\n",
      setup.width, setup.steps);
  std::vector<TableRow> trained;
  for (std::size_t w = 0; w < kWays.size(); ++w) {
    const Spread s = spread_of(r.accuracy[w]);
    trained.push_back({kNames[w], fmt::format("{:.1f} ± {:.1f}", 100 * s.mean, 100 * s.deviation)});
  }
  return text + table_text({"scores", "right answers, %"}, trained);
}

std::string json_of(const Setup& setup, const Results& r) {
  io::JsonWriter w;
  w.begin_object().key("sizes").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < setup.dims.size(); ++i) {
    write(w.begin_object().field("d", setup.dims[i]).key("variance"), r.variance(i));
    write(w.key("entropy_scaled"), r.entropy(i, 0));
    write(w.key("entropy_plain"), r.entropy(i, 1));
    write(w.key("gradient_scaled"), r.gradient(i, 0));
    write(w.key("gradient_plain"), r.gradient(i, 1));
    w.end_object();
  }
  w.end_list().field("accuracy_scaled", rounded(r.accuracy[0]));
  return w.field("accuracy_plain", rounded(r.accuracy[1])).end_object().take_line();
}

draw::Drawing figure_of(const Setup& setup, const Results& r) {
  draw::CurveChart chart;
  chart.title = fmt::format("Softmax over {} random keys", setup.keys);
  chart.x_label = "d, width of a query";
  chart.y_label = "entropy of the weights, 1 = uniform";
  chart.x_axis = draw::AxisKind::logarithmic;
  chart.higher_is_better = true;
  chart.name_best = false;
  for (std::size_t w = 0; w < kWays.size(); ++w) {
    draw::Curve curve{.label = fmt::format("scores {}", kNames[w]),
                      .points = {},
                      .color = draw::curve_color(w),
                      .strong = true};
    for (std::size_t i = 0; i < setup.dims.size(); ++i) {
      const Spread s = r.entropy(i, w);
      curve.points.push_back({static_cast<double>(setup.dims[i]), s.mean});
      curve.spread.push_back({s.low, s.high});
    }
    chart.curves.push_back(std::move(curve));
  }
  for (const Index dim : setup.dims) chart.x_ticks.push_back(static_cast<double>(dim));
  return draw::draw_curves(chart);
}

// The largest dim for which the gradient is larger without the division, and its value at the largest dim.
std::string gradient_text(const Setup& setup, const Results& r) {
  const std::size_t last = setup.dims.size() - 1;
  std::size_t larger = setup.dims.size();
  for (std::size_t i = 0; i < setup.dims.size(); ++i)
    if (r.gradient(i, 1).mean >= r.gradient(i, 0).mean) larger = i;
  const std::string end = fmt::format("falls to {:.3f} at d = {} ({:.3f} with 1/√d)",
                                      r.gradient(last, 1).mean, setup.dims[last], r.gradient(last, 0).mean);
  if (larger == setup.dims.size()) return "The gradient of the softmax " + end;
  return fmt::format(
      "The gradient of the softmax is larger without 1/√d up to d = {} ({:.3f}; {:.3f} with it) and then {}",
      setup.dims[larger], r.gradient(larger, 1).mean, r.gradient(larger, 0).mean, end);
}

}  // namespace

ScalingEffect scaling_effect(Index dim) {
  const Setup setup;
  std::array<std::vector<double>, 2> entropy, gradient;
  for (int i = 0; i < setup.seeds; ++i) {
    const Draw draw = draw_scores(setup, dim, LabOptions().seed + static_cast<std::uint64_t>(i));
    for (std::size_t w = 0; w < kWays.size(); ++w) {
      entropy[w].push_back(draw.ways[w].entropy);
      gradient[w].push_back(draw.ways[w].gradient);
    }
  }
  return {{spread_of(entropy[0]).mean, spread_of(gradient[0]).mean},
          {spread_of(entropy[1]).mean, spread_of(gradient[1]).mean}};
}

Outcome run_scaling(const LabOptions& options) {
  const Setup setup = setup_of(options);
  Context ctx({.threads = options.threads});
  const TensorRecycler recycler;
  Results r;
  for (const Index dim : setup.dims) {
    r.draws.emplace_back();
    for (int i = 0; i < setup.seeds; ++i)
      r.draws.back().push_back(draw_scores(setup, dim, options.seed + static_cast<std::uint64_t>(i)));
  }
  double done = 0;
  const double total = 2.0 * setup.seeds * static_cast<double>(setup.steps);
  for (std::size_t w = 0; w < kWays.size(); ++w)
    for (int i = 0; i < setup.seeds; ++i)
      r.accuracy[w].push_back(
          train_one(ctx, setup, kWays[w], options.seed + static_cast<std::uint64_t>(i),
                    [&] { tell(options, ++done, total, fmt::format("learning, scores {}", kNames[w])); }));
  const std::size_t last = setup.dims.size() - 1;
  const double scaled = spread_of(r.accuracy[0]).mean, plain = spread_of(r.accuracy[1]).mean;
  Outcome out;
  out.finding = fmt::format(
      "The variance of q·k is d: {:.0f} at d = {}. Without 1/√d the entropy of the weights falls from {:.2f} "
      "to {:.2f} of its maximum; with it, it stays at {:.2f}. {}. A model with one head of width {} recalls "
      "{:.0f} % with 1/√d and {:.0f} % without, after the same {} steps.",
      r.variance(last).mean, setup.dims[last], r.entropy(0, 1).mean, r.entropy(last, 1).mean,
      r.entropy(last, 0).mean, gradient_text(setup, r), setup.width, 100 * scaled, 100 * plain, setup.steps);
  out.text =
      table(setup, r) + fmt::format(
                            "\n"
                            "{} queries, {} keys, {} seed{}. Entropy is a share of ln {}; the gradient "
                            "is the norm of the Jacobian of the softmax.\n",
                            setup.queries, setup.keys, setup.seeds, setup.seeds == 1 ? "" : "s", setup.keys);
  out.json = json_of(setup, r);
  out.figure = figure_of(setup, r);
  const double d = static_cast<double>(setup.dims[last]);
  out.holds = std::abs(r.variance(last).mean / d - 1) < 0.2 && r.entropy(last, 1).mean < 0.3 &&
              r.entropy(last, 0).mean > 0.6 && scaled > plain;
  return out;
}

}  // namespace headlight::lab
