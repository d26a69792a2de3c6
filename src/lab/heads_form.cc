// Roles that heads take on during training, without supervision. Two layers learn induction; every head is recorded.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/curves.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/spread.h"
#include "models/transformer.h"
#include "train/learner.h"
#include "train/synthetic_task.h"

namespace headlight::lab {
namespace {

struct Setup {
  Index symbols = 64, length = 64, rows = 32, width = 64, heads = 4;
  std::int64_t steps = 600, every = 25;
  int seeds = 3;
};

Setup setup_of(const LabOptions& options) {
  if (!options.quick) return {};
  return {.length = 32, .width = 32, .heads = 2, .steps = 500, .every = 50, .seeds = 1};
}

// The mean weight of a head on the token before, and to those after an earlier occurrence of
// the query itself. Rows that cannot show the second pattern are not counted for it.
struct Scores {
  double previous = 0, induction = 0;
};

class HeadScores : public Observer {
 public:
  HeadScores(const models::Tokens& tokens, Index layers, Index heads)
      : tokens_(tokens), heads_(heads), scores_(static_cast<std::size_t>(layers * heads)) {}

  void on_attention(const AttentionEvent& event) override {
    for (Index head = 0; head < heads_; ++head) {
      Scores sum;
      double rows = 0, asked = 0;
      for (Index s = 0; s < event.sequences(); ++s) add(event, s, head, sum, rows, asked);
      scores_[static_cast<std::size_t>(event.layer * heads_ + head)] = {sum.previous / std::max(rows, 1.0),
                                                                        sum.induction / std::max(asked, 1.0)};
    }
  }
  [[nodiscard]] const std::vector<Scores>& scores() const { return scores_; }

 private:
  void add(const AttentionEvent& event, Index sequence, Index head, Scores& sum, double& rows,
           double& asked) const {
    constexpr Index kFewest = 4;  // rows that see fewer keys are skipped
    const std::int32_t* ids = tokens_.ids.data() + tokens_.starts[static_cast<std::size_t>(sequence)];
    const Tensor weights = event.weights(sequence, head);
    for (Index i = kFewest - 1; i < weights.dim(0); ++i) {
      sum.previous += weights.at(i, i - 1);
      ++rows;
      bool can = false;
      for (Index j = 1; j < i; ++j) {
        if (ids[j - 1] != ids[i]) continue;
        sum.induction += weights.at(i, j);
        can = true;
      }
      asked += can ? 1 : 0;
    }
  }

  const models::Tokens& tokens_;
  Index heads_;
  std::vector<Scores> scores_;
};

struct Moment {
  std::int64_t step = 0;
  double accuracy = 0;
  std::vector<Scores> heads;  // layer by layer
};
using Story = std::vector<Moment>;

constexpr Index kLayers = 2;

Story run_one(Context& ctx, const Setup& setup, std::uint64_t seed, const std::function<void()>& on_step) {
  train::SyntheticConfig config;
  config.kind = train::SyntheticKind::induction;
  config.symbols = setup.symbols;
  config.length = setup.length;
  config.rows = setup.rows;
  config.evaluation_rows = setup.rows;
  config.seed = seed;
  const train::SyntheticTask task(config);
  auto owned = std::make_unique<models::Transformer>(models::llama_config({.vocabulary = task.vocabulary(),
                                                                           .width = setup.width,
                                                                           .layers = kLayers,
                                                                           .heads = setup.heads,
                                                                           .context = setup.length}));
  owned->initialize(seed);
  const models::Transformer& model = *owned;
  train::Learner learner(ctx, std::move(owned), task, {.steps = setup.steps, .rate = 5e-3, .warmup = 50});
  models::Batch sample;
  task.evaluation_batch(0, sample);
  Story story;
  const auto look = [&] {
    HeadScores scores(sample.input, kLayers, setup.heads);
    (void)model.logits(ctx, sample.input, {.observer = &scores});
    story.push_back({learner.steps(), learner.accuracy(task), scores.scores()});
  };
  look();
  while (!learner.finished()) {
    (void)learner.step();
    on_step();
    if (learner.steps() % setup.every == 0) look();
  }
  return story;
}

// The head with the largest value at the end.
std::size_t best(const Story& story, double Scores::*what) {
  const std::vector<Scores>& heads = story.back().heads;
  return static_cast<std::size_t>(
      std::max_element(heads.begin(), heads.end(),
                       [&](const Scores& a, const Scores& b) { return a.*what < b.*what; }) -
      heads.begin());
}
std::string place(const Setup& setup, std::size_t head) {
  const auto heads = static_cast<std::size_t>(setup.heads);
  return fmt::format("{}.{}", head / heads, head % heads);
}

constexpr double kPrevious = 0.4, kInduction = 0.3;  // threshold for the label

std::string names(const Setup& setup, const Story& story, double Scores::*what, double threshold) {
  std::string list;
  for (std::size_t h = 0; h < story.back().heads.size(); ++h)
    if (story.back().heads[h].*what >= threshold)
      list += fmt::format("{}{} ({:.2f})", list.empty() ? "" : ", ", place(setup, h),
                          story.back().heads[h].*what);
  return list.empty() ? "–" : list;
}

// The first recorded step at which some head has the label.
double formed(const Story& story, double Scores::*what, double threshold) {
  for (const Moment& moment : story)
    for (const Scores& head : moment.heads)
      if (head.*what >= threshold) return static_cast<double>(moment.step);
  return NAN;
}

std::string table(const Setup& setup, const std::vector<Story>& all, std::uint64_t seed) {
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Story& story = all[i];
    double before = 0;
    for (const Scores& head : story.front().heads) before = std::max(before, head.induction);
    rows.push_back({fmt::format("seed {}", seed + i), fmt::format("{:.2f}", before),
                    names(setup, story, &Scores::previous, kPrevious),
                    names(setup, story, &Scores::induction, kInduction),
                    fmt::format("{:.0f}", formed(story, &Scores::induction, kInduction)),
                    fmt::format("{:.0f} %", 100 * story.back().accuracy)});
  }
  return table_text({"", "best at step 0", "previous token", "induction", "from step", "right"}, rows);
}

std::string json_of(const Setup& setup, const std::vector<Story>& all, std::uint64_t seed) {
  io::JsonWriter w;
  w.begin_object().field("layers", kLayers).field("heads", setup.heads);
  w.key("runs").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < all.size(); ++i) {
    w.begin_object().field("seed", seed + i).key("moments").begin_list();
    for (const Moment& m : all[i]) {
      std::vector<double> previous, induction;
      for (const Scores& head : m.heads) {
        previous.push_back(head.previous);
        induction.push_back(head.induction);
      }
      w.begin_object().field("step", m.step).field("accuracy", io::decimals(m.accuracy, 4));
      w.field("previous", rounded(previous)).field("induction", rounded(induction)).end_object();
    }
    w.end_list().end_object();
  }
  return w.end_list().end_object().take_line();
}

// The heads of the first seed: the two labelled ones, the others in grey, and the accuracy of the model.
draw::Drawing figure_of(const Setup& setup, const Story& story) {
  draw::CurveChart chart;
  chart.title = "Roles that heads take on during training";
  chart.y_label = "weight on the pattern; share of correct answers";
  chart.higher_is_better = true;
  chart.name_best = false;
  const auto curve = [&](std::string label, std::size_t color,
                         const std::function<double(const Moment&)>& value) {
    draw::Curve c{.label = std::move(label), .points = {}, .color = draw::curve_color(color)};
    for (const Moment& m : story) c.points.push_back({static_cast<double>(m.step), value(m)});
    return c;
  };
  const std::size_t previous = best(story, &Scores::previous), induction = best(story, &Scores::induction);
  chart.curves.push_back(curve(fmt::format("{} on the previous token", place(setup, previous)), 0,
                               [&](const Moment& m) { return m.heads[previous].previous; }));
  chart.curves.push_back(
      curve(fmt::format("{} on the token after the last occurrence", place(setup, induction)), 1,
            [&](const Moment& m) { return m.heads[induction].induction; }));
  chart.curves.push_back(curve("right answers", 2, [](const Moment& m) { return m.accuracy; }));
  for (draw::Curve& c : chart.curves) c.strong = true;
  return draw::draw_curves(chart);
}

}  // namespace

Outcome run_heads(const LabOptions& options) {
  const Setup setup = setup_of(options);
  Context ctx({.threads = options.threads});
  const TensorRecycler recycler;
  std::vector<Story> all;
  double done = 0;
  const double total = setup.seeds * static_cast<double>(setup.steps);
  all.reserve(static_cast<std::size_t>(setup.seeds));
  for (int i = 0; i < setup.seeds; ++i)
    all.push_back(run_one(ctx, setup, options.seed + static_cast<std::uint64_t>(i),
                          [&] { tell(options, ++done, total, "watching heads form"); }));
  Outcome out;
  std::string places;
  std::vector<double> steps, accuracy, at_first, at_last;
  for (const Story& story : all) {
    const std::size_t head = best(story, &Scores::induction);
    places += fmt::format("{}{}", places.empty() ? "" : ", ", place(setup, head));
    at_last.push_back(story.back().heads[head].induction);
    at_first.push_back(story.front().heads[head].induction);
    accuracy.push_back(story.back().accuracy);
    steps.push_back(formed(story, &Scores::induction, kInduction));
    out.holds = out.holds && story.back().heads[head].induction >= kInduction &&
                story.front().heads[head].induction < kInduction;
  }
  out.finding = fmt::format(
      "Nobody assigns tasks, yet in each run a head learns to attend to the token that followed the last "
      "occurrence of the same token ({}). Its weight there grows from {:.2f} to {:.2f}, and the model is "
      "then right {:.0f} % of the time. Which head it is depends on the seed.",
      places, spread_of(at_first).mean, spread_of(at_last).mean, 100 * spread_of(accuracy).mean);
  out.text = table(setup, all, options.seed) +
             fmt::format(
                 "\n"
                 "Heads are LAYER.HEAD. Thresholds of the labels: weight {} on the "
                 "previous token, {} on the token after the last occurrence.\n"
                 "{} layers of {} heads, {} steps of {} sequences, {} seed{}.\n",
                 kPrevious, kInduction, kLayers, setup.heads, setup.steps, setup.rows, setup.seeds,
                 setup.seeds == 1 ? "" : "s");
  out.json = json_of(setup, all, options.seed);
  out.figure = figure_of(setup, all.front());
  return out;
}

}  // namespace headlight::lab
