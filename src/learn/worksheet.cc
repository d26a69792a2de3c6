#include "learn/worksheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/dice.h"
#include "draw/typesetter.h"
#include "lab/arithmetic.h"
#include "learn/course.h"
#include "learn/sums.h"

namespace headlight::learn {
namespace {

constexpr std::uint32_t kPurpose = 0x1ea41;  // of the random numbers

double whole(Dice& dice, int least, int most) {
  return static_cast<double>(least + dice.below(most - least + 1));
}
Vector wholes(Dice& dice, std::size_t count, int least, int most) {
  Vector out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(whole(dice, least, most));
  return out;
}
// One decimal, -0.9 … 0.9.
Vector tenths(Dice& dice, std::size_t count) {
  Vector out = wholes(dice, count, -9, 9);
  for (double& x : out) x /= 10;
  return out;
}
// Tenths that sum to 1, each at least 0.1.
Vector shares(Dice& dice) {
  const double a = whole(dice, 1, 8), b = whole(dice, 1, 9 - static_cast<int>(a));
  return {a / 10, b / 10, (10 - a - b) / 10};
}

Problem far_apart(Dice& d) {
  const Vector a = tenths(d, 3), b = tenths(d, 3);
  return {fmt::format("How far apart are {} and {}?", short_tuple(a), short_tuple(b)),
          {.numbers = {distance(a, b)}}};
}
Problem score(Dice& d) {
  const Vector a = tenths(d, 3), b = tenths(d, 3);
  return {fmt::format("What is the dot product of {} and {}?", short_tuple(a), short_tuple(b)),
          {.numbers = {dot(a, b)}, .decimals = 2}};
}
Problem shares_of_scores(Dice& d) {
  const Vector s = wholes(d, 3, -1, 3);
  const double t = std::pow(2.0, whole(d, -1, 1));
  return {
      fmt::format("What weights do the scores {} get at temperature {}?", short_tuple(s), short_number(t)),
      {.numbers = lab::softmax(s, 1 / t)}};
}
Problem mixed(Dice& d) {
  const Vector w = shares(d);
  const std::vector<Vector> v = {tenths(d, 2), tenths(d, 2), tenths(d, 2)};
  return {fmt::format("The weights are {}, the values {}, {} and {}. What is the weighted sum?",
                      short_tuple(w), short_tuple(v[0]), short_tuple(v[1]), short_tuple(v[2])),
          {.numbers = weighted_sum(w, v), .decimals = 2}};
}
Problem projected(Dice& d) {
  const Vector x = wholes(d, 2, -3, 3);
  const std::vector<Vector> w = {wholes(d, 2, -2, 2), wholes(d, 2, -2, 2)};
  return {fmt::format("x = {}. Wq has the rows {} and {}. What is the query?", short_tuple(x),
                      short_tuple(w[0]), short_tuple(w[1])),
          {.numbers = times(x, w), .decimals = 0}};
}
Problem scaled(Dice& d) {
  const double root = std::pow(2.0, whole(d, 1, 3));
  Vector s = wholes(d, 2, -3, 3);
  const Vector weights = lab::softmax(s);
  for (double& x : s) x *= root;
  return {fmt::format("Vectors have {} numbers. What weights do the scores {} get, divided by √d?",
                      short_number(root * root), short_tuple(s)),
          {.numbers = weights}};
}
Problem places(Dice& d) {
  const double a = whole(d, 0, 9), b = whole(d, 0, 9);
  return {fmt::format("Place p has the vector (sin p, cos p). What is the score of places {} and {}?",
                      short_number(a), short_number(b)),
          {.numbers = {std::sin(a) * std::sin(b) + std::cos(a) * std::cos(b)}}};
}
Problem hidden_keys(Dice& d) {
  const Vector s = wholes(d, 4, -1, 3);
  const auto seen = static_cast<std::size_t>(whole(d, 2, 3));
  return {fmt::format("The causal mask lets word {} see itself and the words before it. What weights do the "
                      "scores {} leave it?",
                      seen, short_tuple(s)),
          {.numbers = lab::softmax(std::span(s).first(seen))}};
}
Problem sizes(Dice& d) {
  const double heads = std::pow(2.0, whole(d, 1, 4)), width = heads * 8 * whole(d, 2, 8);
  return {fmt::format("A layer of width {} has {} heads. How wide is a head, and how many parameters do "
                      "Wq, Wk, Wv and Wo have together?",
                      short_number(width), short_number(heads)),
          {.numbers = {width / heads, 4 * width * width}, .decimals = 0}};
}
Problem block_norm(Dice& d) {
  Vector x = wholes(d, 4, 0, 6);
  x[3] = x[0] + 1;  // never all equal
  const Vector a = wholes(d, 4, 0, 1);
  Vector sum = plus(x, a);
  if (*std::max_element(sum.begin(), sum.end()) == *std::min_element(sum.begin(), sum.end()))
    sum[0] += 2, x[0] += 2;
  return {fmt::format("Attention adds {} to {}. What is the norm of the sum (mean 0, deviation 1)?",
                      short_tuple(a), short_tuple(x)),
          {.numbers = normalized(sum)}};
}
Problem crossed(Dice& d) {
  const Vector q = wholes(d, 2, -2, 2);
  const std::vector<Vector> k = {wholes(d, 2, -2, 2), wholes(d, 2, -2, 2), wholes(d, 2, -2, 2)};
  Vector s;
  for (const Vector& key : k) s.push_back(dot(q, key));
  return {
      fmt::format("A French query {} meets the English keys {}, {} and {}. What are the weights, with ÷ √2?",
                  short_tuple(q), short_tuple(k[0]), short_tuple(k[1]), short_tuple(k[2])),
      {.numbers = lab::softmax(s, 1 / std::sqrt(2.0))}};
}
Problem path(Dice& d) {
  Vector p = wholes(d, 3, 1, 9);
  for (double& x : p) x /= 10;
  return {fmt::format("Three tokens have the probabilities {}, {} and {}. What is the probability of the "
                      "text, and its logarithm?",
                      short_number(p[0]), short_number(p[1]), short_number(p[2])),
          {.numbers = {p[0] * p[1] * p[2], std::log(p[0] * p[1] * p[2])}}};
}
Problem descent(Dice& d) {
  const double s = whole(d, -2, 2), rate = std::pow(2.0, whole(d, -1, 2));
  const double weight = lab::softmax(Vector{s, 0})[0];
  return {fmt::format("The right key has score {}, the wrong one 0; the loss is −ln weight. What is the "
                      "loss, and the score after one step with rate {}?",
                      short_number(s), short_number(rate)),
          {.numbers = {-std::log(weight), s - rate * (weight - 1)}}};
}
Problem removed_head(Dice& d) {
  const Vector w = shares(d), v = wholes(d, 3, -5, 5);
  return {
      fmt::format("Weights {}, values {}. What is the output without the second key: its value zeroed, and "
                  "the key masked?",
                  short_tuple(w), short_tuple(v)),
      {.numbers = {w[0] * v[0] + w[2] * v[2], (w[0] * v[0] + w[2] * v[2]) / (w[0] + w[2])}, .decimals = 2}};
}
Problem forgotten(Dice& d) {
  const double kept = whole(d, 5, 9) / 10, n = whole(d, 2, 12);
  return {fmt::format("A state keeps {} of itself at each token. What is left of a token after {} more?",
                      short_number(kept), short_number(n)),
          {.numbers = {std::pow(kept, n)}}};
}
Problem streamed(Dice& d) {
  const Vector s = wholes(d, 3, 0, 4);
  const double top = *std::max_element(s.begin(), s.end());
  double sum = 0;
  for (const double x : s) sum += std::exp(x - top);
  return {fmt::format("The scores {} come one by one. What largest score and what sum of exp(score − "
                      "largest) are kept at the end?",
                      short_tuple(s)),
          {.numbers = {top, sum}}};
}

using Maker = Problem (*)(Dice&);
constexpr Maker kMakers[kChapters] = {
    far_apart, score,      shares_of_scores, mixed, projected, scaled,       places,    hidden_keys,
    sizes,     block_norm, crossed,          path,  descent,   removed_head, forgotten, streamed};

}  // namespace

std::vector<Problem> worksheet(int number, std::uint64_t seed) {
  (void)chapter(number);  // throws if there is none
  std::vector<Problem> problems;
  std::uint32_t item = 0;
  while (problems.size() < static_cast<std::size_t>(kProblems)) {
    Dice dice(seed, kPurpose, static_cast<std::uint64_t>(number), item++);
    Problem next = kMakers[number - 1](dice);
    const bool repeated = std::any_of(problems.begin(), problems.end(),
                                      [&](const Problem& p) { return p.question == next.question; });
    if (!repeated) problems.push_back(std::move(next));
  }
  return problems;
}

draw::Drawing worksheet_page(const std::vector<Problem>& problems, const SheetText& text) {
  constexpr double kWidthPt = 595, kHeightPt = 842, kMargin = 56, kFont = 11;
  draw::Typesetter typesetter;
  draw::Drawing page{.width = kWidthPt, .height = kHeightPt, .title = text.heading};
  double y = kMargin + 1.5 * kFont;
  const auto put = [&](double indent, const std::string& line, const draw::TextLook& look) {
    for (const std::string& part : typesetter.wrapped(line, look, kWidthPt - 2 * kMargin - indent)) {
      page.add(draw::TextItem{{kMargin + indent, y}, part, look});
      y += draw::kLineHeight * look.size;
    }
  };
  put(0, text.heading, {.size = 1.5 * kFont, .bold = true});
  put(0, text.below, {.size = 0.8 * kFont, .color = {110, 110, 110}});
  const double top = y + kFont, room = (kHeightPt - kMargin - top) / static_cast<double>(problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    y = top + static_cast<double>(i) * room + kFont;
    page.add(draw::TextItem{{kMargin, y}, fmt::format("{}.", i + 1), {.size = kFont, .bold = true}});
    put(20, problems[i].question, {.size = kFont});
    put(20, text.solutions ? answer_text(problems[i].answer) : form_text(problems[i].answer),
        {.size = text.solutions ? kFont : 0.8 * kFont,
         .color = text.solutions ? draw::Rgb{} : draw::Rgb{110, 110, 110},
         .bold = text.solutions});
  }
  return page;
}

}  // namespace headlight::learn
