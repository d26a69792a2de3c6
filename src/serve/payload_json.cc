// The JSON of models, runs and predictions.
#include <fmt/format.h>

#include "io/json.h"
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

std::string reading_json(const inspect::Reading& reading) {
  std::string tokens, words;
  for (const inspect::ReadToken& token : reading.tokens) {
    tokens += fmt::format("{}{{\"id\": {}, \"text\": {}, \"begin\": {}, \"end\": {}, \"added\": {}}}",
                          tokens.empty() ? "" : ", ", token.id, io::json_quoted(token.label), token.begin,
                          token.end, token.added);
  }
  for (const inspect::Word& word : inspect::words_of(reading)) {
    words += fmt::format("{}{{\"text\": {}, \"begin\": {}, \"end\": {}}}", words.empty() ? "" : ", ",
                         io::json_quoted(word.label), word.tokens.begin, word.tokens.end);
  }
  return fmt::format("{{\"text\": {}, \"second\": {}, \"tokens\": [{}], \"words\": [{}]}}",
                     io::json_quoted(reading.text), reading.second, tokens, words);
}

std::string guess_json(const Run& run, const Guess& guess) {
  const auto& tokenizer = run.subject->tokenizer;
  std::string text;
  if (tokenizer) {
    text = tokenizer->decode(std::span(&guess.token, 1), SpecialTokens::add);
    if (text.empty()) text = tokenizer->token(guess.token);
  }
  return fmt::format("{{\"id\": {}, \"text\": {}, \"p\": {}, \"logit\": {}}}", guess.token,
                     io::json_quoted(text), guess.probability, guess.logit);
}

std::string part_json(const Run& run, Part part) {
  const StoredAttention* first = run.find(part, 0);
  return fmt::format(
      "{{\"part\": \"{}\", \"layers\": {}, \"heads\": {}, \"kv_heads\": {}, \"rows\": {}, \"columns\": {}}}",
      name_of(part), run.subject->layers(part), first->heads(), first->kv_heads(), first->queries(),
      first->keys());
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
  return fmt::format(
      "{{\"name\": {}, \"kind\": \"{}\", \"family\": {}, \"layers\": {}, \"heads\": {}, \"width\": {}, "
      "\"vocabulary\": {}, \"reads\": {}}}",
      io::json_quoted(subject.name), kind_name(c.kind), io::json_quoted(c.family), c.layers, c.heads, c.width,
      c.vocabulary, subject.tokenizer.has_value());
}

std::string run_json(const Run& run) {
  std::string parts, more;
  for (const Part part : parts_of(run)) parts += (parts.empty() ? "" : ", ") + part_json(run, part);
  for (const std::int32_t token : run.request.more)
    more += fmt::format("{}{}", more.empty() ? "" : ", ", token);
  const bool translates = !run.question.written.tokens.empty();
  return fmt::format(
      "{{\"id\": \"{}\", \"model\": {}, \"text\": {}, \"second\": {}, \"target\": {}, \"more\": [{}], "
      "\"temperature\": {}, \"top_k\": {}, \"seed\": {}, \"source\": {}, \"written\": {}, \"decoder_input\": "
      "{}, \"parts\": [{}], "
      "\"usual_part\": \"{}\", \"predictions\": {}}}\n",
      run.id, subject_json(*run.subject), io::json_quoted(run.request.text),
      io::json_quoted(run.request.second), io::json_quoted(run.request.target), more, run.request.temperature,
      run.request.top_k, run.request.seed, reading_json(run.question.source),
      translates ? reading_json(run.question.written) : "null",
      translates ? reading_json(run.decoder_input) : "null", parts, name_of(run.subject->usual_part()),
      run.predictions.size());
}

std::string prediction_json(const Run& run, Index position) {
  const Prediction& p = run.predictions[static_cast<std::size_t>(position)];
  std::string tops;
  for (const Guess& guess : p.tops) tops += (tops.empty() ? "" : ", ") + guess_json(run, guess);
  return fmt::format("{{\"position\": {}, \"tops\": [{}], \"actual\": {}, \"rank\": {}}}\n", position, tops,
                     p.actual.token < 0 ? "null" : guess_json(run, p.actual), p.rank);
}

}  // namespace headlight::serve
