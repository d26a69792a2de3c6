// Chapters 10 to 12: a block, cross-attention, and the decoding loop. The numbers are round, for mental
// arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/arithmetic.h"
#include "learn/flow_figure.h"
#include "learn/lesson.h"
#include "learn/sums.h"

namespace headlight::learn {
namespace {

// ---- 10: one block

const Vector kInput = {1, 2, 2, 3}, kHeads = {2, 1};
const std::vector<Vector> kMix = {{0.5, -0.5, 0, 0}, {-1, 0, 1, 0}};   // Wo: a row for each head's output
const std::vector<Vector> kDetectors = {{0, 0, 1, 1}, {1, 0, 0, -1}};  // a row for each hidden unit
const std::vector<Vector> kWrite = {{0.5, 0, -0.5, 0},
                                    {0, 1, 0, -1}};  // the contribution of each hidden unit

struct Block {
  Vector mixed, summed, normed, hidden, added, out;
};

Vector hidden_of(const Vector& x) {
  Vector hidden;
  for (const Vector& detector : kDetectors) hidden.push_back(std::max(0.0, dot(x, detector)));
  return hidden;
}

Block block() {
  Block b;
  b.mixed = times(kHeads, kMix);
  b.summed = plus(kInput, b.mixed);
  b.normed = normalized(b.summed);
  b.hidden = hidden_of(b.normed);
  b.added = times(b.hidden, kWrite);
  b.out = plus(b.summed, b.added);
  return b;
}

std::string worked_block() {
  const Block b = block();
  const auto mixture = [](const Vector& shares, const std::vector<Vector>& rows) {
    return fmt::format("{}×{} + {}×{}", short_number(shares[0]), short_tuple(rows[0]),
                       short_number(shares[1]), short_tuple(rows[1]));
  };
  std::string text;
  const auto line = [&](std::string_view name, const std::string& what) {
    text += fmt::format("{:<27} {}\n", name, what);
  };
  line("x, the word's vector", short_tuple(kInput));
  line("the two heads found", short_tuple(kHeads));
  line("output projection", mixture(kHeads, kMix));
  line("", "= " + short_tuple(b.mixed));
  line("residual: x + that", short_tuple(b.summed));
  line("norm: mean 2, deviation 1", short_tuple(b.normed));
  for (std::size_t i = 0; i < kDetectors.size(); ++i)
    line(fmt::format("hidden {}: dot {}", i + 1, short_tuple(kDetectors[i])),
         fmt::format("{} → {}", short_number(dot(b.normed, kDetectors[i])), short_number(b.hidden[i])));
  line("feed-forward adds", mixture(b.hidden, kWrite));
  line("", "= " + short_tuple(b.added));
  line("residual: block's output", short_tuple(b.out));
  return text;
}

std::vector<Exercise> exercises_block() {
  const Vector other = {2, 4, 4, 6}, normed = {1, -1, 1, -1};
  constexpr double kWidth = 256;
  return {
      {{.numbers = normalized(other)},
       "The mean is 4. The deviation is the root of the mean square of (−2, 0, 0, 2).",
       {{{-2, 0, 0, 2}, "The mean is gone. Now divide by the deviation."},
        {{-1, 0, 0, 1}, "The deviation is √((4 + 0 + 0 + 4) / 4), not 2."}}},
      {{.numbers = times(hidden_of(normed), kWrite), .decimals = 0},
       "Dot (1, −1, 1, −1) with both detectors, replace negative results by 0, then add up what they write."},
      {{.numbers = {2 * kWidth * 4 * kWidth}, .decimals = 0},
       "One table of 256 × 1,024 and one of 1,024 × 256.",
       {{{kWidth * 4 * kWidth}, "That is one of the two tables."}}},
  };
}

draw::Drawing picture_block() {
  const Block b = block();
  const std::vector<FlowBox> boxes = {
      {"vector of a word", short_tuple(kInput), 0, 0},
      {"heads, output projection", short_tuple(b.mixed), 1, 1},
      {"add", short_tuple(b.summed), 0, 2, true},
      {"norm, feed-forward", short_tuple(b.added), 1, 3},
      {"add", short_tuple(b.out), 0, 4, true},
  };
  return flow_figure("One block: two branches that add to the word's vector", boxes,
                     {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {2, 4}, {3, 4}});
}

// ---- 11: cross-attention

const std::vector<std::string> kEnglish = {"The", "cat", "sat"};
const std::vector<Vector> kKeys = {{0, 1}, {2, 0}, {1, -1}}, kValues = {{0, 0}, {1, 0}, {0, 1}};
const Vector kChat = {2, 1}, kLe = {0, 2};

Vector cross_weights(const Vector& query) {
  Vector scores;
  for (const Vector& key : kKeys) scores.push_back(dot(query, key));
  return lab::softmax(scores, 1 / std::sqrt(2.0));
}

std::string worked_cross() {
  Vector scores, scaled;
  for (const Vector& key : kKeys) {
    scores.push_back(dot(kChat, key));
    scaled.push_back(scores.back() / std::sqrt(2.0));
  }
  const Vector weights = cross_weights(kChat);
  std::string text = fmt::format("query of chat {} (from the French side)\n", short_tuple(kChat));
  for (std::size_t j = 0; j < kEnglish.size(); ++j)
    text += fmt::format("key of {} {:<8} value {} (from the English side)\n", kEnglish[j],
                        short_tuple(kKeys[j]), short_tuple(kValues[j]));
  text += "\n" + number_table(kEnglish, std::vector<NumberRow>{
                                            {"score", scores}, {"÷ √2 =", scaled}, {"weight", weights}});
  return text + fmt::format("\nwhat chat reads = {}\n", tuple(weighted_sum(weights, kValues), 4));
}

std::vector<Exercise> exercises_cross() {
  Vector unscaled;
  for (const Vector& key : kKeys) unscaled.push_back(dot(kLe, key));
  constexpr double kFrench = 12, kSource = 8;
  return {
      {{.numbers = cross_weights(kLe)},
       "Scores (0, 2) · key: 2, 0 and −2. Divide each by √2 and take the softmax.",
       {{lab::softmax(unscaled), "You left out the division by √2."}}},
      {{.numbers = weighted_sum(cross_weights(kLe), kValues)},
       "The weights of exercise 1 times the values: only cat and sat have any that are not 0."},
      {{.numbers = {kFrench * kSource}, .decimals = 0},
       "One weight for each pair of a French and an English token.",
       {{{kSource * kSource}, "That is the encoder's self-attention: English looking at English."},
        {{kFrench * kFrench}, "That is French looking at French."}}},
  };
}

// ---- 12: decoding

struct Path {
  const char *first, *second;
  double p_first, p_second;
  [[nodiscard]] double probability() const { return p_first * p_second; }
};
constexpr Path kPaths[] = {{"le", "chat", 0.6, 0.5}, {"le", "chien", 0.6, 0.3}, {"la", "chatte", 0.4, 0.9}};

std::string worked_decoding() {
  std::string text;
  for (const Path& p : kPaths)
    text += fmt::format("{:<3}{:<7} {} × {} = {:<4}   log {:.4f} + {:.4f} = {:.4f}\n", p.first, p.second,
                        short_number(p.p_first), short_number(p.p_second), short_number(p.probability()),
                        std::log(p.p_first), std::log(p.p_second), std::log(p.probability()));
  return text;
}

std::vector<Exercise> exercises_decoding() {
  const Path& la = kPaths[2];
  constexpr double kBeams = 4, kVocabulary = 8000;
  return {
      {{.numbers = {la.probability()}, .decimals = 2},
       "Probabilities of steps that follow each other are multiplied.",
       {{{la.p_first + la.p_second}, "You added. Probabilities multiply; their logarithms add."}}},
      {{.numbers = {std::log(la.probability())}},
       "ln 0.4 + ln 0.9.",
       {{{std::log10(la.probability())}, "Use the natural logarithm."}}},
      {{.numbers = {kBeams * kVocabulary}, .decimals = 0},
       "Each of the kept texts can be continued by every token of the vocabulary."},
  };
}

draw::Drawing picture_decoding() {
  const std::vector<FlowBox> boxes = {
      {"start", "", 1, 0},
      {"le 0.6", "greedy takes this", 0.5, 1},
      {"la 0.4", "the second beam", 2, 1},
      {"le chat", short_number(kPaths[0].probability()), 0, 2},
      {"le chien", short_number(kPaths[1].probability()), 1, 2},
      {"la chatte", short_number(kPaths[2].probability()), 2, 2, true},
  };
  return flow_figure("Two beams keep the text that greedy choice loses", boxes,
                     {{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}}, {.box_width = 110, .box_height = 34});
}

}  // namespace

std::vector<Lesson> lessons_on_models() {
  return {{worked_block, exercises_block, picture_block},
          {.worked = worked_cross,
           .exercises = exercises_cross,
           .model_picture =
               ModelPicture{.model = "en-fr", .text = "The cat sat on the mat.", .layer = 3, .head = 5}},
          {worked_decoding, exercises_decoding, picture_decoding}};
}

}  // namespace headlight::learn
