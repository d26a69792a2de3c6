#include <fmt/core.h>

#include "cli/explain/steps_writer.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kManyKeys = 32;  // lines of the softmax

}  // namespace

void StepsWriter::write_mask() {
  const auto all = static_cast<Index>(s_.weights.size());
  if (s_.seen.size() == all && s_.visible.right >= Visibility::kUnbounded &&
      s_.visible.left >= Visibility::kUnbounded)
    return;
  std::string what =
      concat("\"", query(), "\" sees tokens ", s_.seen.begin, " to ", s_.seen.end - 1, " of ", all, ". ");
  if (s_.visible.right == 0) what += "A decoder cannot see later tokens; they are hidden.";
  if (s_.visible.left < Visibility::kUnbounded)
    what += concat(" This layer's window is ", s_.visible.left + 1, " tokens.");
  page_.step("Mask", what);
}

std::vector<std::size_t> StepsWriter::shown_keys() const {
  std::vector<std::size_t> list;
  for (Index j = s_.seen.begin; j < s_.seen.end; ++j) list.push_back(static_cast<std::size_t>(j));
  if (list.size() <= kManyKeys) return list;
  std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
    return a == chosen() ? b != chosen() : b != chosen() && s_.weights[a] > s_.weights[b];
  });
  list.resize(kManyKeys);
  std::sort(list.begin(), list.end());
  return list;
}

void StepsWriter::write_softmax() {
  page_.step("Weights", concat("Softmax: exp(score), divided by the sum of all of them. The largest score, ",
                               number_text(s_.top),
                               ", is subtracted first, which changes no weight and keeps exp in range."));
  const auto row = [&](std::string_view label, std::string_view score, double exponential, double weight) {
    return fmt::format("{}{:>10}{:>16}{:>10}", draw::left_aligned(label, kLabel + 2), score,
                       number_text(exponential), number_text(weight));
  };
  page_.line(page_.dim(concat("      ", fmt::format("{}{:>10}{:>16}{:>10}", std::string(kLabel + 2, ' '),
                                                    "score", "exp(score-max)", "weight"))));
  double rest = 0, rest_exp = 0, sum = s_.sink_weight;
  std::size_t others = static_cast<std::size_t>(s_.seen.size());
  const int cells = std::clamp(page_.style().width - 64, 4, 30);
  const std::vector<std::size_t> shown = shown_keys();
  for (Index j = s_.seen.begin; j < s_.seen.end; ++j) {
    const auto at = static_cast<std::size_t>(j);
    sum += s_.weights[at];
    if (std::find(shown.begin(), shown.end(), at) == shown.end()) {
      rest += s_.weights[at], rest_exp += s_.exps[at];
      continue;
    }
    --others;
    const std::string text = row(key(at), number_text(s_.scores[at]), s_.exps[at], s_.weights[at]);
    const std::string mark = at == chosen() ? concat("    ", page_.glyph("▸", ">"), " ", page_.bold(text))
                                            : concat("      ", text);
    page_.line(concat(mark, "  ", page_.bar(s_.weights[at], cells)));
  }
  if (others > 0) equation(row(concat(others, " others"), "", rest_exp, rest));
  if (s_.sink) equation(row("sink", number_text(*s_.sink), s_.sink_exp, s_.sink_weight));
  equation(row("sum", "", s_.sum, sum));
  page_.line();
  equation(concat(number_text(s_.exps[chosen()]), " ", divided(), " ", number_text(s_.sum), " = ",
                  page_.bold(number_text(s_.weights[chosen()]))));
}

void StepsWriter::write_context() {
  page_.step("Weighted sum",
             concat("Every token also has a value, Wv", page_.glyph("·", "."),
                    "x. The output of the head is the sum of all values, each multiplied by its weight."));
  std::vector<std::size_t> keys = shown_keys();
  std::stable_sort(keys.begin(), keys.end(),
                   [&](std::size_t a, std::size_t b) { return s_.weights[a] > s_.weights[b]; });
  const std::size_t most = std::min<std::size_t>(keys.size(), 4);
  for (std::size_t i = 0; i < most; ++i)
    equation(concat(i == 0 ? "  " : "+ ", number_text(s_.weights[keys[i]]), " ", times(), " ",
                    few(s_.values[keys[i]]), "  ", key(keys[i])));
  const auto others = static_cast<std::size_t>(s_.seen.size()) - most;
  if (others > 0) equation(concat("+ ", dots(), " ", others, " more"));
  equation(concat(draw::left_aligned("=", 11), few(s_.context)));
}

void StepsWriter::write_output() {
  page_.step("Output projection",
             concat("Wo turns the ", s_.head_dim, " numbers of this head into ", s_.width,
                    "; the parts of all ", s_.heads, " heads are added", s_.out_bias ? ", and a bias" : "",
                    ". The first number of this head's contribution:"));
  equation(concat(products(s_.output_row, s_.context), " = ", number_text(s_.output[0])));
  page_.line();
  labelled("this head adds", few(s_.output));
}

void StepsWriter::write_check() {
  page_.line();
  page_.rule();
  const auto tick = [&](double gap) {
    return gap <= inspect::kExplainedWithin ? page_.glyph("✓", "ok") : page_.glyph("✗", "DIFFERS");
  };
  const auto say = [&](double gap, std::string_view what, double weight) {
    page_.line(
        fmt::format("   {} {} {:.6f}; the row differs by at most {:.1e}", tick(gap), what, weight, gap));
  };
  page_.line(fmt::format("   {:.6f} is the weight computed here", s_.weights[chosen()]));
  say(s_.kernel_gap(), "the kernel used", s_.kernel_weights[chosen()]);
  say(s_.reference_gap(), "the float64 reference has", s_.reference_weights[chosen()]);
}

}  // namespace headlight::cli
