
#include "cli/explain/text.h"
#include "headlight/version.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

void write(io::JsonWriter& w, std::string_view name, const Tensor& tensor) {
  w.key(name);
  if (tensor.empty()) {
    w.value(nullptr);
    return;
  }
  const auto row = [&](auto at, Index n) {
    w.begin_list();
    for (Index j = 0; j < n; ++j) w.value(at(j));
    w.end_list();
  };
  if (tensor.rank() == 1) return row([&](Index j) { return tensor.at(j); }, tensor.dim(0));
  w.begin_list();
  for (Index i = 0; i < tensor.dim(0); ++i) row([&](Index j) { return tensor.at(i, j); }, tensor.dim(1));
  w.end_list();
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

void write(io::JsonWriter& w, const HeadTrace& h) {
  w.begin_object(io::JsonLayout::lines);
  write(w, "wq", h.wq);
  write(w, "wk", h.wk);
  write(w, "wv", h.wv);
  write(w, "q", h.q);
  write(w, "k", h.k);
  write(w, "v", h.v);
  write(w, "scores", h.scores);
  write(w, "scaled_scores", h.scaled);
  write(w, "weights", h.weights);
  write(w, "context", h.context);
  w.end_object();
}

}  // namespace

std::string explain_json(const Explanation& e) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("version", kVersion).field("tokens", e.sentence.words);
  w.field("query", e.query).field("parameters", name_of(e.recipe.parameters)).key("seed");
  if (e.recipe.parameters == Parameters::none) w.value(nullptr);
  else w.value(e.recipe.seed);
  w.field("causal", e.recipe.causal).field("scale", e.trace.scale);
  write(w, "vectors", e.sentence.x);
  w.key("heads").begin_list(io::JsonLayout::lines);
  for (const HeadTrace& h : e.trace.heads) write(w, h);
  w.end_list();
  write(w, "context", e.trace.context);
  write(w, "wo", e.trace.wo);
  write(w, "bias", e.trace.bias);
  write(w, "output", e.trace.out);
  return w.end_object().take_line();
}

}  // namespace headlight::cli
