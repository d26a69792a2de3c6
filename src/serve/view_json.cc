#include "serve/view_json.h"

#include "session/state.h"

namespace headlight::serve {
namespace {

void write(io::JsonWriter& w, const draw::WeightMap& map, const inspect::AttentionMap& numbers) {
  w.begin_object().field("title", map.title).field("part", name_of(numbers.part));
  if (numbers.layer >= 0) w.field("layer", numbers.layer);
  if (numbers.head >= 0) w.field("head", numbers.head);
  if (!map.quantity.empty()) w.field("quantity", map.quantity);
  w.field("origin", draw::name_of(map.origin));
  if (!map.derivation.empty()) w.field("derivation", map.derivation);
  w.field("rows", map.row_axis).field("columns", map.column_axis);
  w.field("queries", map.queries).field("keys", map.keys);
  write_weights(w.key("weights"), map);
  w.end_object();
}

}  // namespace

void write_tokens(io::JsonWriter& w, const TokenizedText& text, io::JsonLayout layout) {
  w.begin_list(layout);
  for (const Token& token : text.tokens) {
    w.begin_object().field("id", token.id).field("text", token.text).field("begin", token.begin);
    w.field("end", token.end).field("special", token.special).field("word", token.word).end_object();
  }
  w.end_list();
}

void write_weights(io::JsonWriter& w, const draw::WeightMap& map) {
  w.begin_list(io::JsonLayout::lines);
  for (Index i = 0; i < map.rows(); ++i) {
    w.begin_list();
    for (Index j = 0; j < map.columns(); ++j) {
      if (map.sees(i, j)) w.value(static_cast<float>(map.weight(i, j)));
      else w.value(nullptr);
    }
    w.end_list();
  }
  w.end_list();
}

std::string view_json(const session::View& view, const Run& run) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines)
      .field("model", run.model().info().name)
      .field("text", run.source().text);
  write_tokens(w.key("tokens"), run.source());
  if (run.state().input.runs_decoder()) {
    w.field("target", run.target().text);
    write_tokens(w.key("target_tokens"),
                 run.target().tokens.empty() ? run.state().decoder_input : run.target());
  }
  w.key("maps").begin_list(io::JsonLayout::lines);
  for (std::size_t i = 0; i < view.maps.size(); ++i) write(w, view.maps[i], view.numbers[i]);
  return w.end_list().end_object().take_line();
}

}  // namespace headlight::serve
