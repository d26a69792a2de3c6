// Rows with printed numbers, which are recomputed and compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/arithmetic.h"
#include "lab/scaling.h"
#include "lab/seeds_checks.h"
#include "lab/worked_example.h"
#include "models/transformer_config.h"

namespace headlight::lab::seeds {
namespace {

using List = std::vector<double>;

bool near(const List& found, const List& printed, double half_unit) {
  bool all = found.size() == printed.size();
  for (std::size_t i = 0; all && i < found.size(); ++i) all = std::abs(found[i] - printed[i]) <= half_unit;
  return all;
}

// Checks that invented weights sum to one.
Found picture(const List& weights, const std::string& more) {
  return {std::abs(sum_of(weights) - 1) < 1e-9,
          fmt::format("{} sum to {:.2f}; {}", digits(weights, 2), sum_of(weights), more)};
}

List row(const Tensor& matrix, Index i) {
  List out;
  for (Index j = 0; j < matrix.dim(1); ++j) out.push_back(matrix.at(i, j));
  return out;
}

const List kBig = {25.3, 2.1, -18.7, 31.2};

}  // namespace

Found cat_weights() {
  const List w = {0.05, 0.60, 0.25, 0.05, 0.03, 0.02};
  Found found = picture(w, "\"sat\" (0.25) is first when \"cat\" itself (0.60) is left out");
  found.right = found.right && std::max_element(w.begin() + 2, w.end()) == w.begin() + 2;
  return found;
}

Found potter_weights() {
  return picture({0.21, 0.03, 0.05, 0.31, 0.40}, "invented, with \"Harry Potter\" as one word");
}

Found sat_weights() {
  return picture({0.05, 0.35, 0.30, 0.05, 0.05, 0.20},
                 "invented, and in conflict with the heat map below it");
}

Found dot_scale_softmax() {
  const Trace t = trace(journey(), {.parameters = Parameters::uniform});
  const HeadTrace& h = t.heads[0];
  const List scores = row(h.scores, 1), weights = row(h.weights, 1);
  return {near(scores, {1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440}, 5.1e-5) &&
              near(weights, softmax(scores, 1 / std::sqrt(2.0)), 1e-12),
          fmt::format("scores {}, ÷ √2, softmax: {}", digits(scores), digits(weights))};
}

Found not_linear() {
  const List once = softmax(List{1, 2}), twice = softmax(List{2, 4});
  return {std::abs(twice[1] - once[1]) > 0.1,
          fmt::format("softmax(1, 2) = {}, softmax(2, 4) = {}: not twice, not the same", digits(once),
                      digits(twice))};
}

Found score_table() {
  const List rows[] = {
      {0.8, 0.3, 0.1, 0.2}, {0.2, 0.9, 0.7, 0.1}, {0.1, 0.6, 0.8, 0.4}, {0.2, 0.1, 0.3, 0.9}};
  const bool right = near(softmax(rows[0]), {0.3771, 0.2287, 0.1873, 0.2069}, 5.1e-5) &&
                     near(softmax(rows[1]), {0.1796, 0.3617, 0.2961, 0.1625}, 5.1e-5) &&
                     near(softmax(rows[2]), {0.1663, 0.2742, 0.3349, 0.2245}, 5.1e-5) &&
                     near(softmax(rows[3]), {0.1991, 0.1801, 0.2200, 0.4008}, 5.1e-5);
  return {right, fmt::format("printed 0.45 0.25 0.15 0.15; correct is {}", digits(softmax(rows[0])))};
}

Found shades() {
  return {0.35 > 0.30,
          "in the line cat 0.35 > sat 0.30, but the map shades sat highest; 3 shades named, 5 used"};
}

Found one_hot() {
  const List w = softmax(kBig);
  return {near(w, {0.003, 0, 0, 0.997}, 5.1e-4) && std::abs(w[0] - 0.00273) < 5e-6,
          fmt::format("softmax = {}", digits(w))};
}

Found divided() {
  List scaled;
  for (const double x : kBig) scaled.push_back(x / 8);
  return {near(scaled, {3.16, 0.26, -2.34, 3.90}, 5.1e-3), fmt::format("÷ √64 = {}", digits(scaled))};
}

Found scaled_softmax() {
  const List w = softmax(kBig, 1 / 8.0);
  return {near(w, {0.3175, 0.0175, 0.0013, 0.6638}, 5.1e-5),
          fmt::format("printed 0.21 0.11 0.01 0.47 (sum 0.80); correct is {}", digits(w))};
}

// The tutorial's four scores have one winner, which is a special case: among random scores some are close to each
// other, and there softmax has a slope.
Found vanishing() {
  const double a = largest_slope(softmax(kBig)), b = largest_slope(softmax(kBig, 1 / 8.0));
  const ScalingEffect usual = scaling_effect(64), wide = scaling_effect(256);
  return {std::abs(a - 0.00272) < 5e-6 && std::abs(b - 0.22318) < 5e-6 &&
              usual.plain.gradient > usual.scaled.gradient && wide.plain.gradient < wide.scaled.gradient &&
              wide.plain.gradient > wide.scaled.gradient / 2,
          fmt::format("these four scores: largest slope {:.5f} unscaled, {:.5f} scaled, ×{:.0f}; random "
                      "queries on 64 keys: the gradient of the softmax is {:.3f} unscaled, {:.3f} scaled at "
                      "d = 64, {:.3f} and {:.3f} at d = 256",
                      a, b, b / a, usual.plain.gradient, usual.scaled.gradient, wide.plain.gradient,
                      wide.scaled.gradient)};
}

Found kept_spread() {
  const ScalingEffect e = scaling_effect(64);
  return {
      e.plain.entropy < 0.2 && e.scaled.entropy > 0.8 && e.plain.gradient > e.scaled.gradient,
      fmt::format("scaling keeps the weights spread: entropy {:.2f} of its maximum, {:.2f} without, at d = "
                  "64; the gradient is not larger ({:.3f} and {:.3f}); lab scaling: a model learns faster",
                  e.scaled.entropy, e.plain.entropy, e.scaled.gradient, e.plain.gradient)};
}

Found costs() {
  const double n = 100, d = 512;
  return {n * n * d < n * d * d,
          fmt::format("n·d² = {:.1f} million, n²·d = {:.1f} million at n = 100, d = 512; equal at n = d",
                      n * d * d / 1e6, n * n * d / 1e6)};
}

Found base_sizes() {
  const models::TransformerConfig c = models::preset("transformer-base", 1000, 128);
  const nn::MultiHeadAttentionConfig& a = c.decoder.front().attention;
  return {c.width == 512 && a.heads == 8 && a.head_dim == 64,
          fmt::format("transformer-base: width {}, {} heads of width {}", c.width, a.heads, a.head_dim)};
}

Found equal_parameters() {
  return {8 * 512 * 64 == 512 * 512,
          "8 heads · 512·64 = 512·512 = 262144 parameters; Wo takes 8·64 = 512 numbers"};
}

Found illustrated() {
  const List w = softmax(List{112, 96}, 1 / 8.0);
  return {near(w, {0.8808, 0.1192}, 5.1e-5), fmt::format("112 96, ÷ 8 = 14 12, softmax = {}", digits(w))};
}

Found simple_journey() {
  const Trace t = trace(journey(), {});
  const List scores = row(t.heads[0].scores, 1), weights = row(t.heads[0].weights, 1),
             context = row(t.context, 1);
  return {near(weights, {0.138548, 0.237891, 0.233274, 0.123992, 0.108182, 0.158114}, 5.1e-7) &&
              near(context, {0.441866, 0.651482, 0.568309}, 5.1e-7) && std::abs(scores[2] - 1.4754) < 5.1e-5,
          fmt::format("journey: weights {}, context {}", digits(weights), digits(context))};
}

Found trainable_journey() {
  const Trace t = trace(journey(), {.parameters = Parameters::uniform});
  const HeadTrace& h = t.heads[0];
  const List q = row(h.q, 1), z = row(t.context, 1);
  return {near(q, {0.4306, 1.4551}, 5.1e-5) && near(z, {0.306100, 0.821030}, 5.1e-7) &&
              std::abs(h.wq.at(0, 0) - 0.29611194) < 5.1e-9,
          fmt::format("seed 123: q of journey {}, its context {}", digits(q), digits(z))};
}

Found self_score() {
  const Trace t = trace(journey(), {});
  const double score = t.heads[0].scores.at(1, 1);
  return {std::abs(score - 1.4950) < 5.1e-5,
          fmt::format("\"w = 0.8 for journey\": its score with itself is {:.4f}, its weight {:.4f}", score,
                      t.heads[0].weights.at(1, 1))};
}

Found mixture() {
  const Sentence s = journey();
  List mix(3);
  for (Index d = 0; d < 3; ++d)
    mix[static_cast<std::size_t>(d)] = 0.6 * s.x.at(0, d) + 0.3 * s.x.at(1, d) + 0.1 * s.x.at(2, d);
  return {near(mix, {0.480, 0.436, 0.796}, 5.1e-4),
          fmt::format("0.6/0.3/0.1 gives ({}); the weights are 0.1385, 0.2379, 0.2333", digits(mix, 3))};
}

}  // namespace headlight::lab::seeds
