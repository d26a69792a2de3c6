// Chapters 7 to 9: order, mask, and several heads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/figures.h"
#include "lab/arithmetic.h"
#include "lab/worked_example.h"
#include "learn/lesson.h"
#include "learn/sums.h"

namespace headlight::learn {
namespace {

enum : std::size_t { your, journey, starts };

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

// ---- 7: order

Vector place(int p) { return {std::sin(p), std::cos(p)}; }

lab::Sentence backwards() {
  lab::Sentence s = lab::journey();
  std::reverse(s.words.begin(), s.words.end());
  for (Index i = 0; i < 6; ++i)
    for (Index d = 0; d < 3; ++d) s.x.view().set(i, d, sentence().x.at(5 - i, d));
  return s;
}

std::string worked_order() {
  const lab::Trace forwards = lab::trace(sentence(), {}), reversed = lab::trace(backwards(), {});
  std::string text = fmt::format("journey in \"Your journey starts with one step\"  {}\n",
                                 tuple(row_of(forwards.context, 1), 4));
  text += fmt::format("journey in \"step one with starts journey Your\"  {}\n\n",
                      tuple(row_of(reversed.context, 4), 4));
  for (int p = 0; p < 6; ++p)
    text += fmt::format("place {}  (sin {}, cos {}) = {}\n", p, p, p, tuple(place(p), 4));
  text += "\n";
  for (const auto& [a, b] : {std::pair{1, 1}, {1, 2}, {2, 3}, {1, 3}, {1, 4}})
    text += fmt::format("place {} · place {} = {:.4f}   distance {}\n", a, b, dot(place(a), place(b)), b - a);
  return text;
}

std::vector<Exercise> exercises_order() {
  const lab::Trace reversed = lab::trace(backwards(), {});
  const Vector degrees = {std::sin(3 * std::acos(-1.0) / 180), std::cos(3 * std::acos(-1.0) / 180)};
  return {
      {{.numbers = place(3)},
       "sin 3 and cos 3, with the calculator in radians.",
       {{degrees, "Your calculator works in degrees. Switch it to radians."}}},
      {{.numbers = {dot(place(3), place(5))}},
       "Multiply the two vectors, or look at the distance: only it matters."},
      {{.numbers = {reversed.heads[0].weights.at(4, 3)}},
       "Attention without positions has no order: the row has the same weights, in other places."},
  };
}

draw::Drawing picture_order() {
  std::vector<std::string> places;
  std::vector<Vector> rows;
  for (int i = 0; i < 8; ++i) {
    places.push_back(fmt::format("{}", i));
    rows.emplace_back();
    for (int j = 0; j < 8; ++j) rows.back().push_back(dot(place(i), place(j)));
  }
  draw::WeightMap map = map_of({"Dot products of place vectors", "score", places, places}, rows);
  map.is_signed = true;
  map.row_axis = map.column_axis = "place";
  return draw::heat_map_figure(std::vector{map}, style(1, 110));
}

// ---- 8: mask

const lab::Trace& masked() {
  static const lab::Trace t = lab::trace(sentence(), {.causal = true});
  return t;
}
Vector seen_weights(std::size_t word) {
  Vector row = row_of(masked().heads[0].weights, static_cast<Index>(word));
  row.resize(word + 1);
  return row;
}

std::string worked_mask() {
  const Vector scores = row_of(masked().heads[0].scores, journey);
  const double a = std::exp(scores[your]), b = std::exp(scores[journey]);
  std::string text =
      fmt::format("scores of journey   {:.4f}  {:.4f}  −∞  −∞  −∞  −∞\n", scores[your], scores[journey]);
  text += fmt::format("exp                 {:.4f}  {:.4f}   0   0   0   0   sum {:.4f}\n", a, b, a + b);
  text += fmt::format("weights             {}   0   0   0   0\n\n", lab::digits(seen_weights(journey), 4));
  text += "          ";
  for (const std::string& word : words()) text += fmt::format("{:>9}", word);
  for (std::size_t w = 0; w < words().size(); ++w) {
    text += fmt::format("\n{:<10}", words()[w]);
    for (const double x : seen_weights(w)) text += fmt::format("{:>9.4f}", x);
  }
  return text + "\n";
}

std::vector<Exercise> exercises_mask() {
  const lab::Trace open = lab::trace(sentence(), {});
  const Vector all = row_of(open.heads[0].weights, journey), third = row_of(open.heads[0].weights, starts);
  return {
      {{.numbers = {seen_weights(starts)}},
       "starts sees Your, journey and itself: softmax of 0.9422, 1.4754 and 1.4570.",
       {{{third[0], third[1], third[2]},
         "These are weights without the mask: they do not sum to 1 over three words."}}},
      {{.numbers = {6 * 5 / 2.0}, .decimals = 0},
       "The first word does not see 5 others, the second 4, and so on."},
      {{.numbers = {all[your] + all[journey]}},
       "Add journey's weights on Your and journey from chapter 3, where nothing was masked."},
  };
}

draw::Drawing picture_mask() {
  draw::WeightMap map = map_of({"Causal weights", "", words(), words()}, rows_of(masked().heads[0].weights));
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) map.visible.push_back(j <= i ? 1 : 0);
  return draw::heat_map_figure(std::vector{map}, style(1, 110));
}

// ---- 9: heads

const lab::Trace& two_heads() {
  static const lab::Trace t =
      lab::trace(sentence(), {.parameters = lab::Parameters::per_head, .heads = 2, .causal = true});
  return t;
}

std::string worked_heads() {
  std::string text;
  for (std::size_t h = 0; h < 2; ++h) {
    const lab::HeadTrace& t = two_heads().heads[h];
    text += fmt::format("head {}: weights of journey on Your and journey  {:.4f}  {:.4f}\n", h + 1,
                        t.weights.at(1, 0), t.weights.at(1, 1));
    text += fmt::format("        values of Your {}, of journey {}\n", tuple(row_of(t.v, 0), 4),
                        tuple(row_of(t.v, 1), 4));
    if (h == 0) text += fmt::format("        context {}\n", tuple(row_of(t.context, 1), 4));
  }
  text += "\nheads side by side\n";
  for (const std::size_t w : {your, journey})
    text += fmt::format("{:<8} {}\n", words()[w],
                        lab::digits(row_of(two_heads().context, static_cast<Index>(w)), 4));
  return text;
}

std::vector<Exercise> exercises_heads() {
  const lab::HeadTrace& second = two_heads().heads[1];
  constexpr double kWidth = 256, kHeads = 8;
  return {
      {{.numbers = row_of(second.context, 1)},
       "Head 2's two weights times its two values, added. The last two numbers of the row confirm it.",
       {{row_of(two_heads().heads[0].context, 1), "That is head 1."}}},
      {{.numbers = {kWidth / kHeads}, .decimals = 0}, "The width is shared out evenly among the heads."},
      {{.numbers = {4 * kWidth * kWidth}, .decimals = 0},
       "Wq, Wk, Wv and Wo have 256 × 256 numbers each, however many heads share them.",
       {{{3 * kWidth * kWidth}, "You left out Wo, which mixes the heads' results."},
        {{4 * kWidth * kWidth * kHeads}, "More heads do not mean more parameters: each is narrower."}}},
  };
}

draw::Drawing picture_heads() {
  std::vector<draw::WeightMap> maps;
  for (std::size_t h = 0; h < 2; ++h) {
    maps.push_back(
        map_of({fmt::format("Head {}", h + 1), "", words(), words()}, rows_of(two_heads().heads[h].weights)));
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j) maps.back().visible.push_back(j <= i ? 1 : 0);
  }
  return draw::heat_map_figure(maps, style(1, 160));
}

}  // namespace

std::vector<Lesson> lessons_on_heads() {
  return {{worked_order, exercises_order, picture_order},
          {worked_mask, exercises_mask, picture_mask},
          {worked_heads, exercises_heads, picture_heads}};
}

}  // namespace headlight::learn
