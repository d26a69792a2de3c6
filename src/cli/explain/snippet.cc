// The same weight as a short program, to change a number and see its effect.
#include <fmt/format.h>

#include "cli/explain/steps.h"
#include "core/concat.h"
#include "core/escape.h"

namespace headlight::cli {
namespace {

using inspect::HeadSteps;
using inspect::Numbers;

// Nine digits, more than a float32 needs.
std::string numbers_text(const Numbers& numbers, std::string_view open, std::string_view close) {
  std::string out(open);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out += fmt::format("{}{:.9g}", i == 0 ? "" : ", ", numbers[i]);
  return out.append(close);
}

// The comment at the top of the snippet, each line after `mark`.
std::string header(const StepsExplanation& e, std::string_view mark) {
  const HeadSteps& s = e.steps;
  const auto label = [](const TokenizedText& text, Index token) {
    return escaped(text.tokens[static_cast<std::size_t>(token)].text, 40);
  };
  return concat(mark, " ", escaped(e.run.model().info().name, 60), ", ", name_of(s.request.part), " layer ",
                s.request.place.layer, ", head ", s.request.place.head, ": from \"",
                label(e.queries(), s.query.token), "\" (token ", s.query.token, ") to \"",
                label(e.keys(), s.key.token), "\" (token ", s.key.token, ")\n", mark,
                " q and k are the model's own, as they enter the dot product; keys are tokens ", s.seen.begin,
                " to ", s.seen.end - 1, ", all that are visible to the query.\n");
}

// Terms added to the scores, one for each visible key; empty: none.
Numbers added(const HeadSteps& s) {
  Numbers list;
  for (Index j = s.seen.begin; j < s.seen.end; ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (s.slope != 0 || s.has_bias)
      list.push_back((s.slope != 0 ? s.alibi[at] : 0) + (s.has_bias ? s.bias[at] : 0));
  }
  return list;
}

std::string numpy(const StepsExplanation& e) {
  const HeadSteps& s = e.steps;
  std::string out = concat(header(e, "#"), "import numpy as np\n\n");
  out += concat("q = np.array(", numbers_text(s.query.ready(), "[", "])"), "\nk = np.array([\n");
  for (Index j = s.seen.begin; j < s.seen.end; ++j)
    out += concat("    ", numbers_text(s.keys[static_cast<std::size_t>(j)], "[", "],\n"));
  out += "])\n";
  out += s.usual_scale ? "scores = k @ q / np.sqrt(len(q))\n"
                       : fmt::format("scores = k @ q * {:.17g}\n", s.scale);
  if (s.softcap > 0)
    out += fmt::format("scores = {0:.17g} * np.tanh(scores / {0:.17g})  # softcap\n", s.softcap);
  if (const Numbers list = added(s); !list.empty())
    out += concat("scores = scores + np.array(", numbers_text(list, "[", "])"), "  # distance\n");
  if (s.sink)
    out +=
        fmt::format("scores = np.append(scores, {:.9g})  # sink: one more score without a value\n", *s.sink);
  out += "exps = np.exp(scores - scores.max())\nweights = exps / exps.sum()\n";
  return out + fmt::format("print(f\"{{weights[{}]:.6f}}\")  # {:.6f}\n", s.key.token - s.seen.begin,
                           s.weights[static_cast<std::size_t>(s.key.token)]);
}

std::string cpp(const StepsExplanation& e) {
  const HeadSteps& s = e.steps;
  std::string out =
      concat(header(e, "//"), "#include <algorithm>\n#include <cmath>\n#include <cstdio>\n\nint main() {\n");
  const std::size_t dim = s.query.ready().size();
  const Index keys = s.seen.size();
  out += concat("  const double q[", dim, "] = ", numbers_text(s.query.ready(), "{", "};\n"));
  out += concat("  const double k[", keys, "][", dim, "] = {\n");
  for (Index j = s.seen.begin; j < s.seen.end; ++j)
    out += concat("      ", numbers_text(s.keys[static_cast<std::size_t>(j)], "{", "},\n"));
  out += "  };\n";
  const Numbers list = added(s);
  if (!list.empty()) out += concat("  const double distance[", keys, "] = ", numbers_text(list, "{", "};\n"));
  const double least = s.sink.value_or(-1e300);
  out += concat("  double score[", keys, "], top = ", fmt::format("{:.9g}", least), ", sum = 0;\n");
  out += concat("  for (int j = 0; j < ", keys, "; ++j) {\n    double dot = 0;\n    for (int d = 0; d < ",
                dim, "; ++d) dot += q[d] * k[j][d];\n");
  out += s.usual_scale ? concat("    score[j] = dot / std::sqrt(", dim, ".0);\n")
                       : fmt::format("    score[j] = dot * {:.17g};\n", s.scale);
  if (s.softcap > 0)
    out += fmt::format("    score[j] = {0:.17g} * std::tanh(score[j] / {0:.17g});  // softcap\n", s.softcap);
  if (!list.empty()) out += "    score[j] += distance[j];\n";
  out += "    top = std::max(top, score[j]);\n  }\n";
  out += "  for (const double x : score) sum += std::exp(x - top);\n";
  if (s.sink)
    out +=
        fmt::format("  sum += std::exp({:.9g} - top);  // sink: one more score without a value\n", *s.sink);
  return out + fmt::format("  std::printf(\"%.6f\\n\", std::exp(score[{}] - top) / sum);  // {:.6f}\n}}\n",
                           s.key.token - s.seen.begin, s.weights[static_cast<std::size_t>(s.key.token)]);
}

}  // namespace

std::string steps_snippet(const StepsExplanation& e, Snippet as) {
  return as == Snippet::numpy ? numpy(e) : cpp(e);
}

}  // namespace headlight::cli
