

#include "cli/explain/steps.h"
#include "headlight/version.h"
#include "io/json_writer.h"

namespace headlight::cli {
namespace {

using inspect::Numbers;

void write(io::JsonWriter& w, const inspect::TokenSteps& t) {
  w.begin_object(io::JsonLayout::lines).field("token", t.token);
  const auto add = [&](std::string_view name, const Numbers& numbers) {
    if (!numbers.empty()) w.field(name, numbers);
  };
  add("stream", t.stream);
  add("x", t.x);
  add("latent", t.latent);
  add("projected", t.projected);
  add("normed", t.normed);
  add("rotated", t.turned);
  add("grown", t.grown);
  w.end_object();
}

}  // namespace

std::string steps_json(const StepsExplanation& e) {
  const inspect::HeadSteps& s = e.steps;
  const auto key = static_cast<std::size_t>(s.key.token);
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("version", kVersion).field("model", e.run.model().info().name);
  w.field("part", name_of(s.request.part)).field("layer", s.request.place.layer);
  w.field("head", s.request.place.head).field("queries", labels_of(e.queries()));
  w.field("keys", labels_of(e.keys()));
  write(w.key("query"), s.query);
  write(w.key("key"), s.key);
  const auto add = [&](std::string_view name, const Numbers& numbers) {
    if (!numbers.empty()) w.field(name, numbers);
  };
  w.field("scale", s.scale);
  if (s.softcap > 0) w.field("softcap", s.softcap);
  if (s.slope != 0) w.field("alibi_slope", s.slope);
  if (s.sink) w.field("sink", *s.sink).field("sink_weight", s.sink_weight);
  add("dot_products", s.dots);
  add("scaled", s.scaled);
  add("capped", s.capped);
  add("alibi", s.alibi);
  add("content_to_position", s.content_to_position);
  add("position_to_content", s.position_to_content);
  add("bias", s.bias);
  add("scores", s.scores);
  add("weights", s.weights);
  add("kernel_weights", s.kernel_weights);
  add("reference_weights", s.reference_weights);
  add("context", s.context);
  add("output", s.output);
  w.field("score", s.scores[key]).field("weight", s.weights[key]);
  w.field("kernel_gap", s.kernel_gap()).field("reference_gap", s.reference_gap());
  return w.end_object().take_line();
}

}  // namespace headlight::cli
