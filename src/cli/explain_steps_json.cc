#include <fmt/format.h>

#include <cmath>

#include "cli/explain_steps.h"
#include "headlight/version.h"
#include "io/json.h"

namespace headlight::cli {
namespace {

using inspect::Numbers;

std::string number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

std::string list(const Numbers& numbers) {
  std::string out = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) out.append(i == 0 ? "" : ", ").append(number(numbers[i]));
  return out + "]";
}

std::string labels(const inspect::Reading& reading) {
  std::string out = "[";
  for (std::size_t i = 0; i < reading.tokens.size(); ++i)
    out.append(i == 0 ? "" : ", ").append(io::json_quoted(reading.tokens[i].label));
  return out + "]";
}

std::string token(const inspect::TokenSteps& t) {
  std::string out = fmt::format("{{\"token\": {}", t.token);
  const auto add = [&](std::string_view name, const Numbers& numbers) {
    if (!numbers.empty()) out += fmt::format(",\n    \"{}\": {}", name, list(numbers));
  };
  add("stream", t.stream);
  add("x", t.x);
  add("projected", t.projected);
  add("normed", t.normed);
  add("rotated", t.turned);
  return out + "}";
}

}  // namespace

std::string steps_json(const StepsExplanation& e) {
  const inspect::HeadSteps& s = e.steps;
  const auto key = static_cast<std::size_t>(s.key.token);
  std::string out = fmt::format(
      "{{\n  \"version\": {},\n  \"model\": {},\n  \"part\": \"{}\",\n  \"layer\": {},\n  \"head\": {},\n"
      "  \"queries\": {},\n  \"keys\": {},\n  \"query\": {},\n  \"key\": {},\n",
      io::json_quoted(kVersion), io::json_quoted(e.subject.name), name_of(s.request.part),
      s.request.place.layer, s.request.place.head, labels(e.sides.queries), labels(e.sides.keys),
      token(s.query), token(s.key));
  const auto add = [&](std::string_view name, const Numbers& numbers) {
    if (!numbers.empty()) out += fmt::format("  \"{}\": {},\n", name, list(numbers));
  };
  out += fmt::format("  \"scale\": {},\n", number(s.scale));
  if (s.softcap > 0) out += fmt::format("  \"softcap\": {},\n", number(s.softcap));
  if (s.slope != 0) out += fmt::format("  \"alibi_slope\": {},\n", number(s.slope));
  if (s.sink)
    out += fmt::format("  \"sink\": {},\n  \"sink_weight\": {},\n", number(*s.sink), number(s.sink_weight));
  add("dot_products", s.dots);
  add("scaled", s.scaled);
  add("capped", s.capped);
  add("alibi", s.alibi);
  add("bias", s.bias);
  add("scores", s.scores);
  add("weights", s.weights);
  add("kernel_weights", s.kernel_weights);
  add("reference_weights", s.reference_weights);
  add("context", s.context);
  add("output", s.output);
  out += fmt::format(
      "  \"score\": {},\n  \"weight\": {},\n  \"kernel_gap\": {},\n  \"reference_gap\": {}\n}}\n",
      number(s.scores[key]), number(s.weights[key]), number(s.kernel_gap()), number(s.reference_gap()));
  return out;
}

}  // namespace headlight::cli
