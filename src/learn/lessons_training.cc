// Chapters 13 to 16: training, what heads do, recurrence, and fast attention.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/curves.h"
#include "draw/figures.h"
#include "lab/arithmetic.h"
#include "learn/lesson.h"
#include "learn/sums.h"

namespace headlight::learn {
namespace {

draw::CurveChart small_chart(const std::string& title, const std::string& x, const std::string& y) {
  draw::CurveChart chart;
  chart.title = title;
  chart.x_label = x;
  chart.y_label = y;
  chart.name_best = false;
  chart.width = 480, chart.height = 280;
  return chart;
}

// ---- 13: training

// A query chooses between the correct key, with score s, and a wrong one with score 0. The loss is −ln weight.
struct Training {
  double score = 0;
  [[nodiscard]] double weight() const { return lab::softmax(Vector{score, 0})[0]; }
  [[nodiscard]] double loss() const { return -std::log(weight()); }
  [[nodiscard]] double gradient() const { return weight() - 1; }
  void step(double rate) { score -= rate * gradient(); }
};

std::string worked_training() {
  Training t;
  std::string text = "step   score    weight   loss     gradient\n";
  for (int i = 0; i <= 5; ++i, t.step(1))
    text += fmt::format("{:>4}   {:.4f}   {:.4f}   {:.4f}   {:.4f}\n", i, t.score, t.weight(), t.loss(),
                        t.gradient());
  return text;
}

std::vector<Exercise> exercises_training() {
  Training one, fast;
  one.step(1);
  Training two = one;
  two.step(1);
  fast.step(4);
  return {
      {{.numbers = {-std::log(0.25)}},
       "The loss is −ln of the weight.",
       {{{0.75}, "That is 1 − weight. The loss is −ln weight."}}},
      {{.numbers = {two.score}},
       "New score = score − rate × gradient. At score 0.5 the gradient is 0.6225 − 1.",
       {{{one.score + one.gradient()}, "The sign: go against the gradient, so that the loss falls."}}},
      {{.numbers = {fast.weight()}},
       "The gradient at score 0 is −0.5, so the score becomes 2. Then the softmax of 2 and 0.",
       {{{one.weight()}, "That is with a rate of 1."}}},
  };
}

draw::Drawing picture_training() {
  draw::CurveChart chart =
      small_chart("A score learns to choose the right key", "step", "weight of the right key");
  for (const double rate : {0.25, 1.0, 4.0}) {
    draw::Curve curve{.label = fmt::format("rate {}", short_number(rate)),
                      .points = {},
                      .color = draw::curve_color(chart.curves.size())};
    Training t;
    for (int i = 0; i <= 20; ++i, t.step(rate)) curve.points.push_back({static_cast<double>(i), t.weight()});
    chart.curves.push_back(std::move(curve));
  }
  return draw::draw_curves(chart);
}

// ---- 14: what heads do

const std::vector<std::string> kKeys = {"A", "B", "C"};
const Vector kWeights = {0.7, 0.2, 0.1}, kValues = {0.1, 5, 2};

// The head's output when one key's value is zeroed, or the key masked so that the other weights grow.
double output_without(std::size_t key, bool masked) {
  double sum = 0, left = 0;
  for (std::size_t j = 0; j < kKeys.size(); ++j) {
    if (j == key) continue;
    sum += kWeights[j] * kValues[j];
    left += kWeights[j];
  }
  return masked ? sum / left : sum;
}

std::string worked_ablation() {
  const double whole = dot(kWeights, kValues);
  std::string text = fmt::format("output = {} = {:.2f}\n\n", products(kWeights, kValues), whole);
  text += "key  weight  value  output if its value is zeroed  output if it is masked\n";
  for (std::size_t j = 0; j < kKeys.size(); ++j) {
    const double zeroed = output_without(j, false), masked = output_without(j, true);
    text += fmt::format("{:<3}  {:<6}  {:<5}  {:.2f} ({:+.2f}){:>18}{:.2f} ({:+.2f})\n", kKeys[j],
                        short_number(kWeights[j]), short_number(kValues[j]), zeroed, zeroed - whole, "",
                        masked, masked - whole);
  }
  return text;
}

std::vector<Exercise> exercises_ablation() {
  Vector changes;
  for (std::size_t j = 0; j < kKeys.size(); ++j)
    changes.push_back(dot(kWeights, kValues) - output_without(j, false));
  const Vector other = {0.7, 0.2, 0.1}, values = {3, 5, 2};
  return {
      {{.word = kKeys[argmax(changes)], .choices = kKeys},
       "Compare weight × value of the three keys, not the weights."},
      {{.numbers = {output_without(2, true)}},
       "A and B keep their proportions: (0.7×0.1 + 0.2×5) / (0.7 + 0.2).",
       {{{output_without(2, false)},
         "That zeroes the value. A mask also makes the other weights sum to 1 again."}}},
      {{.numbers = {dot(other, values)}, .decimals = 1}, "0.7×3 + 0.2×5 + 0.1×2."},
  };
}

draw::Drawing picture_ablation() {
  std::vector<Vector> rows = {kWeights, {}};
  for (std::size_t j = 0; j < kKeys.size(); ++j) rows[1].push_back(kWeights[j] * kValues[j]);
  draw::FigureStyle style;
  style.width_mm = 90;
  style.numbers = true;
  style.transfer = draw::Transfer::linear;
  draw::WeightMap map =
      map_of({"Large weight, small effect", "value", {"weight", "weight × value"}, kKeys}, rows);
  map.row_axis = "";
  return draw::heat_map_figure(std::vector{map}, style);
}

// ---- 15: recurrence

constexpr double kKept = 0.9, kWidth = 64;

double influence(int steps) { return std::pow(kKept, steps); }

std::string worked_recurrence() {
  std::string text = "state ← 0.9 × state + word\n\ntokens ago   left in the state   read by attention\n";
  for (const int n : {1, 8, 20, 64})
    text += fmt::format("{:>10}   {:>17.4f}   at its own weight\n", n, influence(n));
  text += "\ntokens n   attention 2·n²·64   GRU 6·n·64²\n";
  for (const int n : {64, 192, 1024})
    text += fmt::format("{:>8}   {:>17.0f}   {:>11.0f}\n", n, 2.0 * n * n * kWidth, 6 * n * kWidth * kWidth);
  return text;
}

std::vector<Exercise> exercises_recurrence() {
  int steps = 0;
  while (influence(steps) >= 0.01) ++steps;
  return {
      {{.numbers = {influence(30)}},
       "0.9 multiplied with itself 30 times.",
       {{{1 - 30 * 0.1}, "It loses a tenth of what is left each time, not a tenth of the start."}}},
      {{.numbers = {static_cast<double>(steps)}, .decimals = 0},
       "The smallest whole n with 0.9ⁿ < 0.01: divide ln 0.01 by ln 0.9 and round up."},
      {{.numbers = {3 * 128.0}, .decimals = 0}, "2·n²·d = 6·n·d². Divide both sides by 2·n·d."},
  };
}

draw::Drawing picture_recurrence() {
  draw::CurveChart chart =
      small_chart("Share of a token left in a recurrent state", "tokens ago", "share left");
  for (const double kept : {0.99, 0.9, 0.5}) {
    draw::Curve curve{.label = fmt::format("keeps {}", short_number(kept)),
                      .points = {},
                      .color = draw::curve_color(chart.curves.size()),
                      .strong = true};
    for (int n = 0; n <= 64; ++n) curve.points.push_back({static_cast<double>(n), std::pow(kept, n)});
    chart.curves.push_back(std::move(curve));
  }
  return draw::draw_curves(chart);
}

// ---- 16: fast attention

// The softmax of scores that arrive one by one: the largest so far, and the sum of exp(score − largest).
struct Online {
  double largest = -INFINITY, sum = 0, out = 0;
  void take(double score, double value) {
    const double top = std::max(largest, score), shrink = std::exp(largest - top),
                 share = std::exp(score - top);
    sum = sum * shrink + share;
    out = out * shrink + share * value;
    largest = top;
  }
};
const Vector kScores = {1, 3, 2}, kRead = {10, 20, 30};

std::string worked_online() {
  Online o;
  std::string text = "score  value   largest      sum   output so far, times sum\n";
  for (std::size_t i = 0; i < kScores.size(); ++i) {
    o.take(kScores[i], kRead[i]);
    text += fmt::format("{:>5}  {:>5}   {:>7}   {:.4f}   {:.4f}\n", short_number(kScores[i]),
                        short_number(kRead[i]), short_number(o.largest), o.sum, o.out);
  }
  const Vector weights = lab::softmax(kScores);
  return text + fmt::format("\none by one   {:.4f} / {:.4f} = {:.4f}\nall at once  {} = {:.4f}\n", o.out,
                            o.sum, o.out / o.sum, products(weights, kRead), dot(weights, kRead));
}

std::vector<Exercise> exercises_online() {
  Online o;
  for (std::size_t i = 0; i < kScores.size(); ++i) o.take(kScores[i], kRead[i]);
  Online next = o;
  next.take(4, 0);
  constexpr double kTokens = 8192, kMebibyte = 1048576;
  return {
      {{.numbers = {next.sum}},
       "The new largest is 4: multiply the old sum by exp(3 − 4), then add exp(0) = 1.",
       {{{o.sum + 1}, "The old sum belongs to the largest score 3: shrink it by exp(−1) first."},
        {{o.sum + std::exp(1.0)},
         "That is the sum relative to 3. Relative to the new largest it is smaller."}}},
      {{.numbers = {next.out / next.sum}},
       "Shrink the old output by exp(−1) too; the new value is 0. Divide by the new sum."},
      {{.numbers = {kTokens * kTokens * sizeof(float) / kMebibyte}, .decimals = 0},
       "8,192 × 8,192 scores of 4 bytes, divided by 1,048,576 bytes."},
  };
}

draw::Drawing picture_tiles() {
  std::vector<std::string> names;
  std::vector<Vector> rows;
  for (std::size_t i = 0; i < 8; ++i) {
    names.push_back(fmt::format("{}", i));
    rows.emplace_back();
    for (std::size_t j = 0; j < 8; ++j)
      rows.back().push_back(static_cast<double>(i / 2 * (i / 2 + 1) / 2 + j / 2 + 1));
  }
  draw::WeightMap map =
      map_of({"Order in which tiles of 2 × 2 scores are computed", "order", names, names}, rows);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) map.visible.push_back(j / 2 <= i / 2 ? 1 : 0);
  map.masked_words = "skipped: no score in it is visible";
  draw::FigureStyle style;
  style.width_mm = 110;
  style.numbers = false;
  style.top = 10;
  style.transfer = draw::Transfer::linear;
  return draw::heat_map_figure(std::vector{map}, style);
}

}  // namespace

std::vector<Lesson> lessons_on_training() {
  return {{worked_training, exercises_training, picture_training},
          {worked_ablation, exercises_ablation, picture_ablation},
          {worked_recurrence, exercises_recurrence, picture_recurrence},
          {worked_online, exercises_online, picture_tiles}};
}

}  // namespace headlight::learn
