// The JSON of models, runs and predictions.

#include "core/concat.h"
#include "io/json_writer.h"
#include "serve/payload.h"

namespace headlight::serve {
namespace {

void write(io::JsonWriter& w, const TokenizedText& text) {
  w.begin_object().field("text", text.text).field("second", text.second);
  w.key("tokens").begin_list();
  for (const Token& token : text.tokens) {
    w.begin_object().field("id", token.id).field("text", token.text);
    w.field("begin", token.begin).field("end", token.end).field("added", token.special).end_object();
  }
  w.end_list().key("words").begin_list();
  for (const Word& word : text.words) {
    w.begin_object().field("text", word.text);
    w.field("begin", word.tokens.begin).field("end", word.tokens.end).end_object();
  }
  w.end_list().end_object();
}

void write(io::JsonWriter& w, const Model& model, const TokenProbability& token) {
  w.begin_object().field("id", token.id).field("text", token_text(model, token.id));
  w.field("p", token.probability).field("logit", token.logit).end_object();
}

void write(io::JsonWriter& w, const Run& run, Part part) {
  const StoredAttention* first = run.state().find(part, 0);
  w.begin_object().field("part", name_of(part)).field("layers", run.model().info().find(part)->layers());
  w.field("heads", first->heads()).field("kv_heads", first->kv_heads());
  w.field("rows", first->queries()).field("columns", first->keys()).end_object();
}

void write(io::JsonWriter& w, const FirstLook& look) {
  w.begin_object().field("part", name_of(look.head.part)).field("layer", look.head.layer);
  w.field("head", look.head.head).field("lift", look.lift());
  w.key("query").begin_list().value(look.query.begin).value(look.query.end).end_list();
  w.key("key").begin_list().value(look.key.begin).value(look.key.end).end_list();
  w.field("far", look.reason != LookReason::nothing_farther).end_object();
}

}  // namespace

std::string token_text(const Model& model, TokenId id) {
  const Tokenizer* tokenizer = model.tokenizer();
  if (tokenizer == nullptr) return concat(id);
  std::string text = tokenizer->decode(std::span(&id, 1), SpecialTokens::add);
  return text.empty() ? std::string(tokenizer->token(id)) : text;
}

std::string text_json(const TokenizedText& text) {
  io::JsonWriter w;
  write(w, text);
  return w.take();
}

std::string model_json(const Model& model, std::string_view argument) {
  const ModelInfo& info = model.info();
  const PartInfo& main = *info.find(info.kind == ModelKind::encoder ? Part::encoder : Part::decoder);
  io::JsonWriter w;
  w.begin_object().field("name", info.name).field("kind", name_of(info.kind)).field("family", info.family);
  w.field("layers", main.layers()).field("heads", main.heads.front()).field("width", info.width);
  w.field("vocabulary", info.vocabulary).field("reads", model.tokenizer() != nullptr);
  w.field("context", info.context);
  if (!argument.empty()) w.field("argument", argument);
  return w.end_object().take();
}

std::string run_json(const KeptRun& kept) {
  const Run& run = kept.run;
  const RunRequest& request = kept.request;
  io::JsonWriter w;
  w.begin_object().field("id", kept.id).field("model", io::JsonText{model_json(run.model())});
  w.field("text", request.text).field("second", request.second).field("target", request.target);
  w.field("more", request.more).field("temperature", request.temperature);
  w.field("top_k", request.top_k).field("seed", request.seed);
  write(w.key("source"), run.source());
  const bool translates = !run.target().tokens.empty();
  for (const auto& [name, text] :
       {std::pair{"written", &run.target()}, {"decoder_input", &run.state().decoder_input}}) {
    if (translates) write(w.key(name), *text);
    else w.field(name, nullptr);
  }
  w.key("parts").begin_list();
  for (const Part part : run.parts()) write(w, run, part);
  w.end_list().key("looks").begin_list();
  for (const FirstLook& look : kept.looks) write(w, look);
  w.end_list().field("usual_part", name_of(run.model().state().usual_part()));
  return w.field("predictions", run.positions()).end_object().take_line();
}

std::string lens_json(const KeptRun& kept, Index position, const std::vector<Prediction>& layers) {
  io::JsonWriter w;
  w.begin_object().field("position", position).key("layers").begin_list();
  for (const Prediction& one : layers) {
    w.begin_object().key("tops").begin_list();
    for (const TokenProbability& token : one.top) write(w, kept.run.model(), token);
    w.end_list().end_object();
  }
  w.end_list().key("experts").begin_list();
  for (const inspect::LayerExperts& layer : kept.experts) {
    if (static_cast<Index>(layer.experts.size()) < (position + 1) * layer.used) continue;
    w.begin_object().field("layer", layer.layer).field("count", layer.count).key("used").begin_list();
    for (Index i = position * layer.used; i < (position + 1) * layer.used; ++i) {
      const auto at = static_cast<std::size_t>(i);
      w.begin_list().value(layer.experts[at]).value(layer.weights[at]).end_list();
    }
    w.end_list().end_object();
  }
  return w.end_list().end_object().take_line();
}

std::string prediction_json(const Model& model, Index position, const Prediction& prediction) {
  io::JsonWriter w;
  w.begin_object().field("position", position).key("tops").begin_list();
  for (const TokenProbability& token : prediction.top) write(w, model, token);
  w.end_list().key("actual");
  if (prediction.actual) write(w, model, *prediction.actual);
  else w.value(nullptr);
  return w.field("rank", prediction.rank).end_object().take_line();
}

}  // namespace headlight::serve
