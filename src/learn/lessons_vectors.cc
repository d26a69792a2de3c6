// Chapters 1 to 4: from words as vectors to a word in its context, without parameters.
#include <fmt/format.h>

#include <cmath>

#include "draw/curves.h"
#include "draw/figures.h"
#include "lab/arithmetic.h"
#include "lab/worked_example.h"
#include "learn/lesson.h"
#include "learn/sums.h"

namespace headlight::learn {
namespace {

enum : std::size_t { your, journey, starts, with, one, step };

const std::vector<std::string>& words() {
  static const std::vector<std::string> all = lab::journey().words;
  return all;
}
const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all = rows_of(lab::journey().x);
  return all;
}
const lab::HeadTrace& attention() {
  static const lab::Trace all = lab::trace(lab::journey(), {});
  return all.heads[0];
}
Vector scores_of(std::size_t word) { return row_of(attention().scores, static_cast<Index>(word)); }
Vector weights_of(std::size_t word) { return row_of(attention().weights, static_cast<Index>(word)); }
Answer one_word(std::size_t word) { return {.word = words()[word], .choices = words()}; }

draw::FigureStyle style(double top, double width_mm = 110) {
  draw::FigureStyle s;
  s.width_mm = width_mm;
  s.top = top;
  s.numbers = true;
  s.transfer = draw::Transfer::linear;
  return s;
}

// ---- 1: words as vectors

Vector distances_from(std::size_t word) {
  Vector all;
  for (const Vector& other : vectors()) all.push_back(distance(vectors()[word], other));
  return all;
}

std::size_t nearest_to(std::size_t word) {
  Vector closeness;
  for (const double d : distances_from(word)) closeness.push_back(d == 0 ? -1e9 : -d);
  return argmax(closeness);
}

std::string worked_words() {
  std::string text;
  for (std::size_t i = 0; i < words().size(); ++i)
    text += fmt::format("{:<8} {}\n", words()[i], tuple(vectors()[i], 2));
  Vector gap;
  double squares = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    gap.push_back(vectors()[journey][d] - vectors()[one][d]);
    squares += gap[d] * gap[d];
  }
  text +=
      fmt::format("\njourney − one = {}\ndistance = √({:.2f}² + {:.2f}² + {:.2f}²) = √{:.4f} = {:.4f}\n\n",
                  tuple(gap, 2), std::abs(gap[0]), gap[1], gap[2], squares, std::sqrt(squares));
  return text +
         number_table(words(), std::vector<NumberRow>{{"distance from journey", distances_from(journey)}});
}

std::vector<Exercise> exercises_words() {
  const double apart = distance(vectors()[your], vectors()[one]);
  constexpr double kVocabulary = 4096, kWidth = 256;
  return {
      {{.numbers = {apart}},
       "Subtract number by number, square the three differences, add them, take the root.",
       {{{apart * apart}, "That is the sum of the squares. The distance is its square root."}}},
      {one_word(nearest_to(with)),
       "Compute the distance from with to each other word. The smallest one wins."},
      {{.numbers = {kVocabulary * kWidth}, .decimals = 0},
       "Every token has one row in the table: multiply the number of rows by the numbers in a row.",
       {{{kVocabulary + kWidth}, "Do not add: each of the tokens has its own row."}}},
  };
}

draw::Drawing picture_words() {
  return draw::heat_map_figure(
      std::vector{
          named(map_of({"Six words, three numbers each", "value", words(), {"1st", "2nd", "3rd"}}, vectors()),
                "word", "number")},
      style(1, 80));
}

// ---- 2: dot product

double cosine(std::size_t a, std::size_t b) {
  return dot(vectors()[a], vectors()[b]) / (length(vectors()[a]) * length(vectors()[b]));
}

std::string worked_dot() {
  const Vector &a = vectors()[journey], &b = vectors()[starts];
  const double score = dot(a, b);
  std::string text =
      fmt::format("journey · starts = {}\n                 = {:.4f} + {:.4f} + {:.4f} = {:.4f}\n\n",
                  products(a, b), a[0] * b[0], a[1] * b[1], a[2] * b[2], score);
  text += number_table(words(), std::vector<NumberRow>{{"score of journey with", scores_of(journey)},
                                                       {"score of one with", scores_of(one)}});
  return text +
         fmt::format(
             "\nlength of journey {:.4f}, of starts {:.4f}\ncosine = {:.4f} / ({:.4f} × {:.4f}) = {:.4f}\n",
             length(a), length(b), score, length(a), length(b), cosine(journey, starts));
}

std::vector<Exercise> exercises_dot() {
  const Vector &a = vectors()[with], &b = vectors()[one];
  return {
      {{.numbers = {dot(a, b)}},
       "Multiply first by first, second by second, third by third; add the three products.",
       {{{lab::sum_of(a) * lab::sum_of(b)},
         "You multiplied the sums. Multiply number by number first, then add."}}},
      {one_word(argmax(scores_of(one))), "The table has the scores of one. The largest need not be its own."},
      {{.numbers = {cosine(one, starts)}},
       "Divide the score of one and starts by the product of their two lengths.",
       {{{dot(vectors()[one], vectors()[starts])}, "That is the score. Divide it by both lengths."}}},
  };
}

draw::Drawing picture_dot() {
  return draw::heat_map_figure(
      std::vector{named(map_of({"Scores: dot products of all pairs", "score", words(), words()},
                               rows_of(attention().scores)),
                        "score of this word", "with this word")},
      style(1.5));
}

// ---- 3: softmax

std::string worked_softmax() {
  const Vector scores = scores_of(journey);
  Vector powers;
  for (const double s : scores) powers.push_back(std::exp(s));
  std::string text = number_table(
      words(),
      std::vector<NumberRow>{{"score", scores}, {"exp(score)", powers}, {"weight", weights_of(journey)}});
  text += fmt::format("\nsum of exp(score) = {0:.4f}\nweight of starts  = {1:.4f} / {0:.4f} = {2:.4f}\n\n",
                      lab::sum_of(powers), powers[starts], weights_of(journey)[starts]);
  std::vector<NumberRow> rows;
  for (const double t : {0.1, 1.0, 10.0})
    rows.push_back({fmt::format("temperature {}", short_number(t)), lab::softmax(scores, 1 / t)});
  return text + number_table(words(), rows);
}

std::vector<Exercise> exercises_softmax() {
  const Vector three = {2, 1, 0}, two = {1, 0};
  return {
      {{.numbers = lab::softmax(three)},
       "exp(2) = 7.3891, exp(1) = 2.7183, exp(0) = 1. Divide each by their sum.",
       {{{2.0 / 3, 1.0 / 3, 0}, "You divided the scores by their sum. Take exp of each score first."}}},
      {{.numbers = {weights_of(one)[starts]}},
       "Take exp of all six scores of one in chapter 2, add them, and divide exp(0.7154) by the sum."},
      {{.numbers = {lab::softmax(two, 1 / 0.5)[0]}},
       "Divide both scores by the temperature first: 1/0.5 = 2 and 0.",
       {{{lab::softmax(two)[0]}, "That is temperature 1."},
        {{lab::softmax(two, 0.5)[0]}, "You multiplied by the temperature. Divide: a low one sharpens."}}},
  };
}

draw::Drawing picture_softmax() {
  draw::CurveChart chart;
  chart.title = "Weights of journey, by temperature";
  chart.x_label = "temperature";
  chart.y_label = "weight";
  chart.x_axis = draw::AxisKind::logarithmic;
  chart.x_ticks = {0.03, 0.1, 0.3, 1, 3, 10};
  chart.name_best = false;
  chart.width = 480, chart.height = 280;
  for (std::size_t j = 0; j < words().size(); ++j) {
    draw::Curve curve{.label = words()[j], .points = {}, .color = draw::curve_color(j), .strong = true};
    for (int i = 0; i <= 80; ++i) {
      const double t = 0.03 * std::pow(10.0 / 0.03, i / 80.0);
      curve.points.push_back({t, lab::softmax(scores_of(journey), 1 / t)[j]});
    }
    chart.curves.push_back(std::move(curve));
  }
  return draw::draw_curves(chart);
}

// ---- 4: weighted sum

std::string worked_sum() {
  const Vector weights = weights_of(journey);
  std::string text;
  for (std::size_t j = 0; j < words().size(); ++j) {
    Vector part;
    for (const double x : vectors()[j]) part.push_back(weights[j] * x);
    text += fmt::format("{} {:.4f} × {} = {}  {}\n", j == 0 ? " " : "+", weights[j], tuple(vectors()[j], 2),
                        tuple(part, 4), words()[j]);
  }
  const Vector sum = weighted_sum(weights, vectors());
  text += fmt::format("{:>30}= {}  journey in context\n\n", "", tuple(sum, 4));
  text += fmt::format("Your in context {}\n\n", tuple(weighted_sum(weights_of(your), vectors()), 4));
  return text + number_table(words(), std::vector<NumberRow>{{"weights of one", weights_of(one)}});
}

std::vector<Exercise> exercises_sum() {
  const Vector even(6, 1.0 / 6), uneven = {0.9, 0.1};
  const Vector context = weighted_sum(weights_of(one), vectors());
  return {
      {{.numbers = weighted_sum(even, vectors())},
       "Equal weights make an average: add the six first numbers, divide by 6; the same for the second and "
       "third.",
       {{weighted_sum(Vector(6, 1.0), vectors()), "That is the sum. Each word counts one sixth."}}},
      {{.numbers = {context[0]}},
       "Multiply each word's first number by its weight in the row \"weights of one\", and add the six "
       "products.",
       {{{vectors()[one][0]}, "That is one by itself, before it has looked at anything."}}},
      {{.numbers = weighted_sum(uneven, {vectors()[journey], vectors()[one]})},
       "0.9 times each number of journey plus 0.1 times the same number of one."},
  };
}

draw::Drawing picture_sum() {
  return draw::heat_map_figure(std::vector{named(map_of({"Weights: each row sums to 1", "", words(), words()},
                                                        rows_of(attention().weights)),
                                                 "weight of this word", "on this word")},
                               style(0.25));
}

}  // namespace

std::vector<Lesson> lessons_on_vectors() {
  return {{worked_words, exercises_words, picture_words},
          {worked_dot, exercises_dot, picture_dot},
          {.worked = worked_softmax,
           .exercises = exercises_softmax,
           .picture = picture_softmax,
           .slider =
               [] {
                 return Slider{words(), scores_of(journey)};
               }},
          {worked_sum, exercises_sum, picture_sum}};
}

}  // namespace headlight::learn
