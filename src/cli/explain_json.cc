#include <fmt/core.h>

#include "cli/explain_text.h"
#include "headlight/version.h"
#include "io/json.h"

namespace headlight::cli {
namespace {

// Shortest text that reads back as the same double.
std::string list(const Tensor& tensor) {
  if (tensor.empty()) return "null";
  const auto row = [&](auto at, Index n) {
    std::string out = "[";
    for (Index j = 0; j < n; ++j) out += fmt::format("{}{}", j > 0 ? ", " : "", at(j));
    return out + "]";
  };
  if (tensor.rank() == 1) return row([&](Index j) { return tensor.at(j); }, tensor.dim(0));
  std::string out = "[";
  for (Index i = 0; i < tensor.dim(0); ++i) {
    out += (i > 0 ? ", " : "") + row([&](Index j) { return tensor.at(i, j); }, tensor.dim(1));
  }
  return out + "]";
}

std::string_view name_of(Parameters p) {
  switch (p) {
    case Parameters::none: return "none";
    case Parameters::uniform: return "uniform";
    case Parameters::per_head: return "per_head";
    case Parameters::shared: return "shared";
  }
  return "none";
}

std::string head_json(const HeadTrace& h) {
  return fmt::format(
      "    {{\n      \"wq\": {},\n      \"wk\": {},\n      \"wv\": {},\n      \"q\": {},\n      \"k\": {},\n "
      "     \"v\": {},\n"
      "      \"scores\": {},\n      \"scaled_scores\": {},\n      \"weights\": {},\n      \"context\": {}\n  "
      "  }}",
      list(h.wq), list(h.wk), list(h.wv), list(h.q), list(h.k), list(h.v), list(h.scores), list(h.scaled),
      list(h.weights), list(h.context));
}

}  // namespace

std::string explain_json(const Explanation& e) {
  std::string tokens, heads;
  for (const std::string& w : e.sentence.words) tokens += (tokens.empty() ? "" : ", ") + io::json_quoted(w);
  for (const HeadTrace& h : e.trace.heads) heads += (heads.empty() ? "" : ",\n") + head_json(h);
  return fmt::format(
      "{{\n  \"version\": {},\n  \"tokens\": [{}],\n  \"query\": {},\n  \"parameters\": \"{}\",\n  \"seed\": "
      "{},\n"
      "  \"causal\": {},\n  \"scale\": {},\n  \"vectors\": {},\n  \"heads\": [\n{}\n  ],\n  \"context\": "
      "{},\n"
      "  \"wo\": {},\n  \"bias\": {},\n  \"output\": {}\n}}\n",
      io::json_quoted(kVersion), tokens, e.query, name_of(e.recipe.parameters),
      e.recipe.parameters == Parameters::none ? "null" : std::to_string(e.recipe.seed), e.recipe.causal,
      e.trace.scale, list(e.sentence.x), heads, list(e.trace.context), list(e.trace.wo), list(e.trace.bias),
      list(e.trace.out));
}

}  // namespace headlight::cli
