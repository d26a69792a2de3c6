// The JSON of models, runs and predictions.

#include "io/json_writer.h"
#include "serve/payload.h"

namespace headlight::serve {
namespace {

std::string_view kind_name(models::ModelKind kind) {
  switch (kind) {
    case models::ModelKind::decoder: return "decoder";
    case models::ModelKind::encoder: return "encoder";
    case models::ModelKind::encoder_decoder: return "encoder_decoder";
  }
  return "decoder";
}

void write(io::JsonWriter& w, const inspect::Reading& reading) {
  w.begin_object().field("text", reading.text).field("second", reading.second);
  w.key("tokens").begin_list();
  for (const inspect::ReadToken& token : reading.tokens) {
    w.begin_object().field("id", token.id).field("text", token.label);
    w.field("begin", token.begin).field("end", token.end).field("added", token.added).end_object();
  }
  w.end_list().key("words").begin_list();
  for (const inspect::Word& word : inspect::words_of(reading)) {
    w.begin_object().field("text", word.label);
    w.field("begin", word.tokens.begin).field("end", word.tokens.end).end_object();
  }
  w.end_list().end_object();
}

void write(io::JsonWriter& w, const Run& run, const Guess& guess) {
  const auto& tokenizer = run.subject->tokenizer;
  std::string text;
  if (tokenizer) {
    text = tokenizer->decode(std::span(&guess.token, 1), SpecialTokens::add);
    if (text.empty()) text = tokenizer->token(guess.token);
  }
  w.begin_object().field("id", guess.token).field("text", text);
  w.field("p", guess.probability).field("logit", guess.logit).end_object();
}

void write(io::JsonWriter& w, const Run& run, Part part) {
  const StoredAttention* first = run.find(part, 0);
  w.begin_object().field("part", name_of(part)).field("layers", run.subject->layers(part));
  w.field("heads", first->heads()).field("kv_heads", first->kv_heads());
  w.field("rows", first->queries()).field("columns", first->keys()).end_object();
}

}  // namespace

std::vector<Part> parts_of(const Run& run) {
  std::vector<Part> parts;
  for (const Part part : {Part::encoder, Part::decoder, Part::cross})
    if (run.find(part, 0) != nullptr) parts.push_back(part);
  return parts;
}

std::string subject_json(const inspect::Subject& subject) {
  const models::TransformerConfig& c = subject.model->config();
  io::JsonWriter w;
  w.begin_object().field("name", subject.name).field("kind", kind_name(c.kind)).field("family", c.family);
  w.field("layers", c.main().size()).field("heads", c.main().front().attention.heads).field("width", c.width);
  w.field("vocabulary", c.vocabulary).field("reads", subject.tokenizer.has_value());
  return w.end_object().take();
}

std::string run_json(const Run& run) {
  io::JsonWriter w;
  w.begin_object().field("id", run.id).field("model", io::JsonText{subject_json(*run.subject)});
  w.field("text", run.request.text).field("second", run.request.second).field("target", run.request.target);
  w.field("more", run.request.more).field("temperature", run.request.temperature);
  w.field("top_k", run.request.top_k).field("seed", run.request.seed);
  write(w.key("source"), run.question.source);
  const bool translates = !run.question.written.tokens.empty();
  for (const auto& [name, reading] :
       {std::pair{"written", &run.question.written}, {"decoder_input", &run.decoder_input}}) {
    if (translates) write(w.key(name), *reading);
    else w.field(name, nullptr);
  }
  w.key("parts").begin_list();
  for (const Part part : parts_of(run)) write(w, run, part);
  w.end_list().field("usual_part", name_of(run.subject->usual_part()));
  return w.field("predictions", run.predictions.size()).end_object().take_line();
}

std::string prediction_json(const Run& run, Index position) {
  const Prediction& p = run.predictions[static_cast<std::size_t>(position)];
  io::JsonWriter w;
  w.begin_object().field("position", position).key("tops").begin_list();
  for (const Guess& guess : p.tops) write(w, run, guess);
  w.end_list().key("actual");
  if (p.actual.token < 0) w.value(nullptr);
  else write(w, run, p.actual);
  return w.field("rank", p.rank).end_object().take_line();
}

}  // namespace headlight::serve
