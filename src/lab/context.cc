// One word, two meanings: does "bank" differ more between river and money than within each?
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/concat.h"
#include "draw/curves.h"
#include "headlight/error.h"
#include "inspect/model_run.h"
#include "io/json_writer.h"
#include "lab/experiment.h"
#include "lab/seeds_checks.h"
#include "lab/spread.h"
#include "train/dice.h"

namespace headlight::lab {
namespace {

// "bank" has different positions in both groups: the sentences of a group share only its meaning.
constexpr std::array<const char*, 12> kRiver = {
    "He sat on the bank of the river and watched the fish.",
    "The boat is near the bank of the river.",
    "We walked along the bank until it was dark.",
    "There are many trees on the other bank of the river.",
    "The children played on the bank and threw stones into the water.",
    "The bank of the river was covered with flowers.",
    "She swam from one bank to the other.",
    "A small house stood on the left bank of the river.",
    "They slept in a tent on the bank of the lake.",
    "The water rose over the bank after the rain.",
    "The dog ran down the bank into the water.",
    "He was fishing from the bank all morning.",
};
constexpr std::array<const char*, 12> kMoney = {
    "He put all his money in the bank.",
    "I have to go to the bank to change some money.",
    "She works at a bank in the city.",
    "The bank will not lend us the money.",
    "He opened an account at the bank yesterday.",
    "The bank is closed on Sundays.",
    "They robbed a bank and stole a million dollars.",
    "I paid the check into my bank account.",
    "My father borrowed ten thousand dollars from the bank.",
    "How much money do you have in the bank?",
    "The bank gave him a loan to buy a house.",
    "You can pay the money at any bank.",
};

using Vector = std::vector<double>;

// The residual stream at one token, after every layer of the encoder.
class StreamOf : public Observer {
 public:
  explicit StreamOf(Index token) : token_(token) {}
  void on_residual(const ResidualEvent& event) override {
    Vector v;
    for (Index d = 0; d < event.x.dim(1); ++d) v.push_back(event.x.at(token_, d));
    layers.push_back(std::move(v));
  }
  std::vector<Vector> layers;

 private:
  Index token_;
};

double cosine(const Vector& a, const Vector& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t d = 0; d < a.size(); ++d) ab += a[d] * b[d], aa += a[d] * a[d], bb += b[d] * b[d];
  return ab / std::sqrt(aa * bb);
}

// Cosines of all pairs of sentences; a group is 0 or 1.
struct Pairs {
  std::size_t count = 0;
  std::vector<double> cosines;  // [count, count]

  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return cosines[i * count + j]; }
  struct Means {
    std::vector<double> within, between;
    [[nodiscard]] double gap() const { return spread_of(within).mean - spread_of(between).mean; }
  };
  [[nodiscard]] Means split(const std::vector<int>& groups) const {
    Means m;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < i; ++j) (groups[i] == groups[j] ? m.within : m.between).push_back(at(i, j));
    return m;
  }
};

struct LayerResult {
  Spread within, between;
  double gap = 0, p = 1;
  Spread gaps = {};  // over halves of the sentences
};

// Permutation test: the share of random divisions into two groups with a gap as large.
double permutation_p(const Pairs& pairs, std::vector<int> groups, double gap, int rounds,
                     std::uint64_t seed) {
  int as_large = 0;
  for (int r = 0; r < rounds; ++r) {
    train::Dice dice(seed, train::Purpose::order, static_cast<std::uint64_t>(r));
    dice.shuffle(groups);
    as_large += pairs.split(groups).gap() >= gap - 1e-12 ? 1 : 0;
  }
  return (as_large + 1.0) / (rounds + 1.0);
}

// The gap without a random third of the sentences: how much it depends on single ones.
Spread resampled(const Pairs& pairs, const std::vector<int>& groups, int rounds, std::uint64_t seed) {
  std::vector<double> gaps;
  for (int r = 0; r < rounds; ++r) {
    train::Dice dice(seed, train::Purpose::masking, static_cast<std::uint64_t>(r));
    std::vector<std::size_t> order(pairs.count);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    dice.shuffle(order);
    order.resize(2 * pairs.count / 3);
    Pairs some{.count = order.size(), .cosines = {}};
    std::vector<int> kept;
    for (const std::size_t i : order) {
      kept.push_back(groups[i]);
      for (const std::size_t j : order) some.cosines.push_back(pairs.at(i, j));
    }
    gaps.push_back(some.split(kept).gap());
  }
  return spread_of(gaps);
}

class BankStudy {
 public:
  explicit BankStudy(const LabOptions& options) : options_(options), ctx_({.threads = options.threads}) {
    if (options.model == nullptr || !options.model->has(Part::encoder) || !options.model->tokenizer) {
      throw Error(ErrorKind::usage, "lab.model",
                  "lab context: needs a model with an encoder and a tokenizer; give one with --model");
    }
    for (const char* sentence : kRiver) read(sentence, 0);
    for (const char* sentence : kMoney) read(sentence, 1);
  }

  std::vector<LayerResult> run(int rounds) {
    std::vector<LayerResult> results;
    for (std::size_t layer = 0; layer < streams_[0].size(); ++layer) {
      tell(options_, static_cast<double>(layer), static_cast<double>(streams_[0].size()),
           "shuffling the sentences");
      Pairs pairs{.count = streams_.size(), .cosines = {}};
      for (const auto& a : streams_)
        for (const auto& b : streams_) pairs.cosines.push_back(cosine(a[layer], b[layer]));
      const Pairs::Means means = pairs.split(groups_);
      LayerResult r{.within = spread_of(means.within), .between = spread_of(means.between)};
      r.gap = means.gap();
      r.p = permutation_p(pairs, groups_, r.gap, rounds, options_.seed);
      r.gaps = resampled(pairs, groups_, rounds / 10, options_.seed);
      results.push_back(r);
    }
    return results;
  }
  [[nodiscard]] const std::string& model() const { return options_.model->name; }

 private:
  void read(const char* sentence, int group) {
    const inspect::LoadedModel& loaded = *options_.model;
    const inspect::ModelInput input{.source = inspect::read_text(*loaded.tokenizer, sentence)};
    const Range word = inspect::pick(input.source, "bank").word.tokens;
    StreamOf stream(word.end - 1);
    models::Tokens tokens;
    tokens.append(input.source.ids());
    (void)loaded.model->encode(ctx_, tokens, {.observer = &stream});
    streams_.push_back(std::move(stream.layers));
    groups_.push_back(group);
  }

  const LabOptions& options_;
  Context ctx_;
  std::vector<std::vector<Vector>> streams_;  // [sentence][layer]
  std::vector<int> groups_;
};

std::string p_text(double p) { return p < 0.001 ? fmt::format("{:.0e}", p) : fmt::format("{:.3f}", p); }

draw::Drawing figure_of(const std::vector<LayerResult>& layers, const std::string& model) {
  draw::CurveChart chart;
  chart.title = "“bank” in 24 sentences: similarity of its vectors, layer by layer";
  chart.x_label = concat("layer of ", model, " (0: input of the first layer)");
  chart.y_label = "mean cosine";
  chart.name_best = false;
  draw::Curve within{
      .label = "within a meaning", .points = {}, .color = draw::curve_color(0), .strong = true},
      between{.label = "river against money", .points = {}, .color = draw::curve_color(1), .strong = true};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const auto add = [&](draw::Curve& curve, const Spread& s, double shift) {
      curve.points.push_back({static_cast<double>(l) + shift, s.mean});
      curve.spread.push_back({s.mean - s.deviation, s.mean + s.deviation});
    };
    add(within, layers[l].within, 0);
    add(between, layers[l].between, 0.04);
    chart.x_ticks.push_back(static_cast<double>(l));
  }
  chart.curves = {within, between};
  return draw::draw_curves(chart);
}

}  // namespace

Outcome run_context(const LabOptions& options) {
  BankStudy study(options);
  const int rounds = options.quick ? 1000 : 10000;
  const std::vector<LayerResult> layers = study.run(rounds);
  std::vector<TableRow> rows;
  io::JsonWriter w;
  w.begin_object().field("model", study.model()).key("layers").begin_list(io::JsonLayout::lines);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const LayerResult& r = layers[l];
    rows.push_back({fmt::format("{}", l), plus_minus(r.within), plus_minus(r.between),
                    fmt::format("{:+.3f}", r.gap), fmt::format("± {:.3f}", r.gaps.deviation), p_text(r.p)});
    write(w.begin_object().field("layer", l).key("within"), r.within);
    write(w.key("between"), r.between);
    write(w.field("gap", rounded(r.gap)).key("resampled"), r.gaps);
    w.field("p", rounded(r.p)).end_object();
  }
  const LayerResult &first = layers.front(), &last = layers.back();
  Outcome out;
  out.holds = last.gap > 0 && last.p < 0.05 && last.gap > first.gap;
  out.finding = fmt::format(
      "“bank” enters {} with the same vector for both meanings, apart from its position (gap {:+.3f}, p {}). "
      "After {} layers its vectors are {} alike within a meaning than across: cosine {:.3f} and {:.3f}, p {} "
      "in {} shuffles of {} sentences.",
      study.model(), first.gap, p_text(first.p), layers.size() - 1, last.gap > 0 ? "more" : "not more",
      last.within.mean, last.between.mean, p_text(last.p), rounds, kRiver.size() + kMoney.size());
  out.text = with_note(
      table_text({"layer", "within", "between", "gap", "2/3 of them", "p"}, rows),
      fmt::format("Mean cosine ± standard deviation over pairs of sentences, {} about rivers and {} about "
                  "money. Gap: within minus between, with its standard deviation when a third of the "
                  "sentences is left out. p: share of random splits with a gap as large. Seed {}.",
                  kRiver.size(), kMoney.size(), options.seed),
      options.width);
  out.json = w.end_list().end_object().take_line();
  out.figure = figure_of(layers, study.model());
  return out;
}

Found seeds::bank_in_context(const LabOptions& options) {
  if (options.model == nullptr) return without_model();
  LabOptions quick = options;
  quick.quick = true;
  quick.progress = nullptr;
  BankStudy study(quick);
  const std::vector<LayerResult> layers = study.run(1000);
  const LayerResult &first = layers.front(), &last = layers.back();
  return {last.gap > 0 && last.p < 0.05, fmt::format("cosine within a meaning {:.3f}, across {:.3f} after {} "
                                                     "layers (p {}); as it enters {:.3f} and {:.3f}",
                                                     last.within.mean, last.between.mean, layers.size() - 1,
                                                     p_text(last.p), first.within.mean, first.between.mean)};
}

}  // namespace headlight::lab
