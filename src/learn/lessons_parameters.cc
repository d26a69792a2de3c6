// Chapters 5 and 6: parameters, and why scores are divided by √d.
#include <fmt/format.h>

#include <cmath>

#include "draw/curves.h"
#include "draw/figures.h"
#include "lab/arithmetic.h"
#include "lab/scaling.h"
#include "lab/worked_example.h"
#include "learn/lesson.h"
#include "learn/sums.h"

namespace headlight::learn {
namespace {

enum : std::size_t { journey = 1, one = 4, step = 5 };

const lab::Sentence& sentence() {
  static const lab::Sentence s = lab::journey();
  return s;
}
const std::vector<std::string>& words() { return sentence().words; }

draw::FigureStyle style(double top, double width_mm) {
  draw::FigureStyle s;
  s.width_mm = width_mm;
  s.top = top;
  s.numbers = true;
  s.transfer = draw::Transfer::linear;
  return s;
}

// ---- 5: query, key, value

// The head of chapters 5 and 6. Its trace divides by √2; chapter 5 does not yet.
const lab::HeadTrace& head() {
  static const lab::Trace t = lab::trace(sentence(), {.parameters = lab::Parameters::uniform});
  return t.heads[0];
}
Vector query_of(std::size_t w) { return row_of(head().q, static_cast<Index>(w)); }
Vector key_of(std::size_t w) { return row_of(head().k, static_cast<Index>(w)); }
Vector scores_of(std::size_t w) { return row_of(head().scores, static_cast<Index>(w)); }
const double kRoot = std::sqrt(2.0);

std::string table_of(const std::string& name, const Tensor& matrix) {
  std::string text;
  for (Index i = 0; i < matrix.dim(0); ++i)
    text += fmt::format("{:<5}{}\n", i == 0 ? name + " =" : "", lab::digits(row_of(matrix, i), 4));
  return text;
}

std::string worked_projections() {
  const Vector x = row_of(sentence().x, journey), scores = scores_of(journey), weights = lab::softmax(scores);
  Vector first;
  for (Index i = 0; i < 3; ++i) first.push_back(head().wq.at(i, Index{0}));
  std::string text = table_of("Wq", head().wq) + table_of("Wk", head().wk) + table_of("Wv", head().wv);
  text += fmt::format("\nfirst number of the query of journey\n  = {} = {:.4f}\n\n", products(x, first),
                      dot(x, first));
  text += "          query              key                value\n";
  for (std::size_t w = 0; w < words().size(); ++w)
    text += fmt::format("{:<8}  {}   {}   {}\n", words()[w], tuple(query_of(w), 4), tuple(key_of(w), 4),
                        tuple(row_of(head().v, static_cast<Index>(w)), 4));
  text += fmt::format("\njourney · step = {} = {:.4f}\n\n", products(query_of(journey), key_of(step)),
                      scores[step]);
  text +=
      number_table(words(), std::vector<NumberRow>{{"score of journey with", scores}, {"weight", weights}});
  return text +
         fmt::format("\njourney in context = {}\n", tuple(weighted_sum(weights, rows_of(head().v)), 4));
}

std::vector<Exercise> exercises_projections() {
  return {
      {{.numbers = query_of(one)},
       "First number: the vector of one times the first column of Wq. Second number: times the second "
       "column.",
       {{key_of(one), "That is the key of one: you used Wk."}}},
      {{.numbers = {scores_of(one)[journey]}},
       "The query of one times the key of journey: two products, added.",
       {{{scores_of(journey)[one]},
         "That is journey looking at one. Here one looks: its query, journey's key."}}},
      {{.numbers = {static_cast<double>(3 * 3 * 2)}, .decimals = 0},
       "Each table has 3 rows (numbers in) and 2 columns (numbers out); there are three tables."},
  };
}

draw::Drawing picture_projections() {
  std::vector<Vector> rows;
  for (std::size_t w = 0; w < words().size(); ++w) rows.push_back(lab::softmax(scores_of(w)));
  const lab::Trace plain = lab::trace(sentence(), {});
  return draw::heat_map_figure(std::vector{map_of({"Chapter 4: the vectors themselves", "", words(), words()},
                                                  rows_of(plain.heads[0].weights)),
                                           map_of({"Now: queries and keys", "", words(), words()}, rows)},
                               style(0.3, 160));
}

// ---- 6: scale

std::string worked_scale() {
  Vector scaled = scores_of(journey);
  for (double& s : scaled) s /= kRoot;
  const Vector weights = lab::softmax(scaled);
  std::string text = number_table(
      words(), std::vector<NumberRow>{
                   {"score of journey with", scores_of(journey)}, {"÷ √2 =", scaled}, {"weight", weights}});
  text += fmt::format("\njourney in context = {}\n\n", tuple(weighted_sum(weights, rows_of(head().v)), 4));
  text +=
      "spread of the weights on 64 random keys (1 = even, 0 = all on one key)\n     d   without   with ÷ "
      "√d\n";
  for (const Index d : {4, 16, 64, 256}) {
    const lab::ScalingEffect effect = lab::scaling_effect(d);
    text += fmt::format("{:>6}   {:>7.2f}   {:>9.2f}\n", d, effect.plain.entropy, effect.scaled.entropy);
  }
  return text;
}

std::vector<Exercise> exercises_scale() {
  const Vector large = {112, 96}, halves = {0.5, 0.25, 0.25};
  return {
      {{.numbers = lab::softmax(large, 1 / std::sqrt(64.0))},
       "√64 = 8. Divide both scores by it, then take the softmax of 14 and 12.",
       {{lab::softmax(large), "That is without the division: nearly everything goes to one key."},
        {lab::softmax(large, 1.0 / 64), "You divided by d. Divide by its square root, 8."}}},
      {{.numbers = {lab::entropy(halves)}},
       "Entropy is −Σ w·ln w: 0.5·0.6931 + 2·0.25·1.3863.",
       {{{lab::entropy(halves) / std::log(2.0)}, "That is in bits. Use the natural logarithm."}}},
      {{.numbers = {std::sqrt(256.0)}, .decimals = 0},
       "The variances of 256 products add up to 256; the standard deviation is its square root.",
       {{{256}, "That is the variance. The standard deviation is its square root."}}},
  };
}

draw::Drawing picture_scale() {
  draw::CurveChart chart;
  chart.title = "Spread of the weights";
  chart.x_label = "d";
  chart.y_label = "entropy / largest possible";
  chart.x_axis = draw::AxisKind::logarithmic;
  chart.x_ticks = {4, 16, 64, 256};
  chart.name_best = false;
  chart.width = 480, chart.height = 280;
  chart.curves = {
      {.label = "scores ÷ √d", .points = {}, .color = draw::curve_color(0), .strong = true},
      {.label = "scores as they are", .points = {}, .color = draw::curve_color(1), .strong = true}};
  for (const Index d : {4, 16, 64, 256}) {
    const lab::ScalingEffect effect = lab::scaling_effect(d);
    chart.curves[0].points.push_back({static_cast<double>(d), effect.scaled.entropy});
    chart.curves[1].points.push_back({static_cast<double>(d), effect.plain.entropy});
  }
  return draw::draw_curves(chart);
}

}  // namespace

std::vector<Lesson> lessons_on_parameters() {
  return {{worked_projections, exercises_projections, picture_projections},
          {worked_scale, exercises_scale, picture_scale}};
}

}  // namespace headlight::learn
