#include <fmt/core.h>

#include <cmath>

#include "cli/explain/steps_writer.h"
#include "core/escape.h"

namespace headlight::cli {
namespace {

using inspect::Numbers;
using inspect::TokenSteps;

constexpr std::size_t kFewNumbers = 4;  // of a long vector
constexpr std::size_t kAllLines = 64;   // lines of the dot product

std::string spaces(int n) { return std::string(static_cast<std::size_t>(std::max(n, 0)), ' '); }

}  // namespace

std::string StepsWriter::write() {
  write_title();
  write_reads();
  if (s_.norm) write_norm();
  write_projection();
  if (s_.head_norm && !s_.query.normed_last) write_head_norm();
  if (s_.rotation) write_rotation();
  if (s_.head_norm && s_.query.normed_last) write_head_norm();
  if (!s_.query.grown.empty()) write_growth();
  write_dot_product();
  if (s_.scale != 1) write_scale();
  if (s_.softcap > 0) write_softcap();
  if (s_.slope != 0) write_alibi();
  if (s_.has_bias) write_bias();
  write_mask();
  write_softmax();
  write_context();
  write_output();
  write_check();
  return page_.text();
}

std::string StepsWriter::few(const Numbers& numbers) const {
  std::string text = "(";
  for (std::size_t d = 0; d < std::min(numbers.size(), kFewNumbers); ++d)
    text += concat(d > 0 ? ", " : "", draw::right_aligned(number_text(numbers[d]), 7));
  return concat(text, numbers.size() > kFewNumbers ? concat(", ", dots(), ")") : ")");
}

std::string StepsWriter::products(const Numbers& a, const Numbers& b) const {
  std::string text;
  for (std::size_t d = 0; d < std::min<std::size_t>(a.size(), 2); ++d)
    text += concat(d > 0 ? " + " : "", number_text(a[d]), times(), number_text(b[d]));
  return a.size() > 2 ? concat(text, " + ", dots()) : text;
}

void StepsWriter::write_title() {
  const std::string title = "One weight, step by step";
  const std::string place = concat(escaped(e_.run.model().info().name, 40), ", ", name_of(s_.request.part),
                                   " layer ", s_.request.place.layer, ", head ", s_.request.place.head);
  const int gap = page_.style().width - 2 - draw::display_width(title) - draw::display_width(place);
  page_.line(concat(page_.bold(title), spaces(std::max(gap, 2)), page_.dim(place)));
  page_.rule();
  page_.line();
  page_.sentence(concat("How much does \"", query(), "\" (token ", s_.query.token, ") look at \"", key(),
                        "\" (token ", s_.key.token, s_.cross ? " of the text it translates)" : ")", "? ",
                        number_text(s_.weights[chosen()]),
                        " of its attention. Every number below is the model's own, recomputed in float64."));
}

void StepsWriter::write_reads() {
  std::string where;
  if (s_.adds_positions)
    where = " The position of a token is part of its vector: positions were added to the embeddings.";
  const std::string from =
      s_.cross ? "The query comes from the translation, the key from the output of the encoder."
      : s_.request.place.layer == 0 ? "This is the first layer: they are embeddings."
                                    : "They are the output of earlier layers.";
  page_.step("Input of the layer", concat("Each token is a vector of ", s_.width, " numbers. ", from, where));
  const Numbers& q = s_.query.stream.empty() ? s_.query.x : s_.query.stream;
  both("", "", q, s_.key.stream.empty() ? s_.key.x : s_.key.stream);
}

void StepsWriter::norm_example(const TokenSteps& t, std::string_view label) {
  const bool layer = s_.norm->kind == nn::NormKind::layer;
  const std::string centred = layer ? concat("(", number_text(t.stream[0]), " - ", number_text(t.mean), ")")
                                    : number_text(t.stream[0]);
  equation(concat(label, ": ", centred, " ", divided(), " ", number_text(t.size), " ", times(), " ",
                  number_text(s_.norm_weight[0]),
                  layer && s_.norm->bias ? concat(" + ", number_text(s_.norm_bias[0])) : "", " = ",
                  number_text(t.x[0])));
}

void StepsWriter::write_norm() {
  const bool layer = s_.norm->kind == nn::NormKind::layer;
  page_.step("Norm", layer ? "Subtract the mean of each vector, divide by its standard deviation, then "
                             "apply a learned scale and shift to each number. The first number of each:"
                           : "Divide each vector by its root mean square, then apply a learned scale to "
                             "each number. The first number of each:");
  norm_example(s_.query, query());
  if (!s_.key.stream.empty()) norm_example(s_.key, key());
  page_.line();
  if (s_.key.stream.empty()) labelled(query(), few(s_.query.x));
  else both("", "", s_.query.x, s_.key.x);
}

void StepsWriter::write_projection() {
  std::string shared;
  if (s_.kv_heads < s_.heads)
    shared = concat(" ", s_.heads / s_.kv_heads, " query heads share key head ", s_.kv_head, ".");
  page_.step("Query and key",
             concat("Parameters Wq and Wk", s_.qkv_bias ? " and their biases" : "", " of this head turn ",
                    s_.width, " numbers into ", s_.head_dim, ": what \"", query(), "\" looks for, what \"",
                    key(), "\" offers. The first number of each:", shared));
  const auto first = [&](std::string_view name, const TokenSteps& t) {
    const Numbers& read = t.latent.empty() ? t.x : t.latent;
    equation(concat(name, " = ", products(t.row, read), " (", read.size(), " products)",
                    s_.qkv_bias ? concat(" + ", number_text(t.row_bias)) : "", " = ",
                    number_text(t.projected[0])));
  };
  first("q", s_.query);
  first("k", s_.key);
  page_.line();
  both("q  ", "k  ", s_.query.projected, s_.key.projected);
}

void StepsWriter::write_head_norm() {
  page_.step("Norm of query and key",
             s_.head_norm_place == nn::HeadNormPlace::all
                 ? "This model divides the queries of all heads by their root mean square, and the keys "
                   "likewise, then applies a learned scale to each number."
             : !s_.head_norm->weighted ? "This model divides queries and keys by their root mean square."
                                       : "This model divides queries and keys by their root mean square, "
                                         "then applies a learned scale to each number.");
  equation(concat("q: divided by ", number_text(s_.query.head_size), "    k: divided by ",
                  number_text(s_.key.head_size)));
  page_.line();
  both("q  ", "k  ", s_.query.normed, s_.key.normed);
}

void StepsWriter::write_growth() {
  page_.step("Length", concat("Queries late in a text are scaled up; this one, token ", s_.query.token,
                              ", by a factor."));
  equation(concat("q ", times(), " ", number_text(s_.query.growth)));
  page_.line();
  both("q  ", "k  ", s_.query.ready(), s_.key.ready());
}

void StepsWriter::write_rotation() {
  const inspect::Rotation& r = *s_.rotation;
  page_.step("Positions",
             concat("Queries and keys are rotated by their position, pair by pair: the farther apart two "
                    "tokens are, the more their angles differ. ",
                    2 * r.half < s_.head_dim ? concat(r.first > 0 ? "The last " : "The first ", 2 * r.half,
                                                      " of ", s_.head_dim, " numbers are rotated. ")
                                             : "",
                    "The first pair of each:"));
  const auto one = static_cast<std::size_t>(r.first),
             second = one + static_cast<std::size_t>(r.interleaved ? 1 : r.half);
  const auto pair = [&](std::string_view name, const TokenSteps& t) {
    const Numbers& before = t.normed.empty() || t.normed_last ? t.projected : t.normed;
    equation(concat(name, ": (", number_text(before[one]), ", ", number_text(before[second]), ") turned by ",
                    t.token, " ", times(), " ", number_text(r.frequencies[0]), " rad = (",
                    number_text(t.turned[one]), ", ", number_text(t.turned[second]), ")"));
  };
  pair("q", s_.query);
  pair("k", s_.key);
  page_.line();
  both("q  ", "k  ", s_.query.turned, s_.key.turned);
}

void StepsWriter::write_dot_product() {
  page_.step("Score", "The dot product of query and key: multiply pair by pair and add.");
  const Numbers &q = s_.query.ready(), &k = s_.key.ready();
  page_.line(page_.dim(concat("      ", fmt::format("{:>5}{:>11}{:>11}{:>11}{:>14}", "", "q", "k",
                                                    concat("q", times(), "k"), "running sum"))));
  double sum = 0;
  const bool whole = q.size() <= kAllLines;
  for (std::size_t d = 0; d < q.size(); ++d) {
    sum += q[d] * k[d];
    if (!whole && d == kAllLines / 2) equation(concat("      ", dots(), " ", q.size() - kAllLines, " more"));
    if (!whole && d >= kAllLines / 2 && d < q.size() - kAllLines / 2) continue;
    equation(fmt::format("{:>5}{:>11}{:>11}{:>11}{:>14}", d, number_text(q[d]), number_text(k[d]),
                         number_text(q[d] * k[d]), number_text(sum)));
  }
  page_.line();
  equation(concat("q", page_.glyph("·", "."), "k = ", page_.bold(number_text(s_.dots[chosen()]))));
}

void StepsWriter::write_scale() {
  page_.step("Scale", s_.usual_scale
                          ? concat("Wide vectors give large scores, so divide by ", root(), s_.head_dim,
                                   ": queries and keys have ", s_.head_dim, " numbers.")
                          : std::string("This model has its own scale for all scores."));
  const std::string by = s_.usual_scale ? concat(divided(), " ", root(), s_.head_dim)
                                        : concat(times(), " ", number_text(s_.scale));
  equation(concat(number_text(s_.dots[chosen()]), " ", by, " = ", number_text(s_.scaled[chosen()])));
}

void StepsWriter::write_softcap() {
  page_.step("Softcap",
             concat("The softcap keeps scores below ", number_text(s_.softcap), " and above minus that."));
  equation(concat(number_text(s_.softcap), " ", times(), " tanh(", number_text(s_.scaled[chosen()]), " ",
                  divided(), " ", number_text(s_.softcap), ") = ", number_text(s_.capped[chosen()])));
}

void StepsWriter::write_alibi() {
  page_.step("Distance", "Each token of distance lowers the score by the slope of this head (ALiBi).");
  equation(concat(number_text(before_bias()), " - ", number_text(s_.slope), " ", times(), " ",
                  std::abs(s_.position - s_.key.token), " = ", number_text(s_.scores[chosen()])));
}

void StepsWriter::write_bias() {
  if (s_.has_terms) return write_terms();
  page_.step("Distance",
             concat("This head has a learned bias for each distance; the key is ", s_.position - s_.key.token,
                    " tokens before the query (negative: after it)."));
  equation(concat(number_text(before_bias()), " + ", number_text(s_.bias[chosen()]), " = ",
                  number_text(s_.scores[chosen()])));
}

void StepsWriter::write_terms() {
  page_.step("Distance",
             concat("Two more terms: query times a key vector of the distance, and key times a query "
                    "vector of it. The key is ",
                    s_.position - s_.key.token, " tokens before the query (negative: after it)."));
  equation(concat("content ", page_.glyph("·", "."), " content = ", number_text(before_bias())));
  equation(concat("content ", page_.glyph("·", "."),
                  " position = ", number_text(s_.content_to_position[chosen()])));
  equation(concat("position ", page_.glyph("·", "."),
                  " content = ", number_text(s_.position_to_content[chosen()])));
  equation(concat("sum = ", number_text(s_.scores[chosen()])));
}

std::string steps_text(const StepsExplanation& e, const PageStyle& style) {
  return StepsWriter(e, style).write();
}

}  // namespace headlight::cli
