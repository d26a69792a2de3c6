// Text generation: continuation, translation, and the probabilities of given texts.
#include "bindings/model.h"
#include "headlight/write.h"

namespace headlight::python {
namespace {

Dict from_generated(const GeneratedText& text) {
  Dict out;
  out["prompt_ids"] = text.prompt_ids;
  out["ids"] = text.ids;
  out["log_probabilities"] = text.log_probabilities;
  out["text"] = from_text(text.text);
  out["ending"] = from_text(name_of(text.ending));
  return out;
}

template <class T>
void read(const Dict& options, const char* key, T& field) {
  if (!options.contains(key)) return;
  if constexpr (std::is_same_v<T, bool>) field = to_switch(options.get(key), key);
  else if constexpr (std::is_floating_point_v<T>) field = to_number(options.get(key), key);
  else field = static_cast<T>(to_index(options.get(key), key));
}

GenerateOptions options_of(const Dict& given) {
  GenerateOptions o;
  read(given, "max_tokens", o.max_tokens);
  read(given, "temperature", o.temperature);
  read(given, "top_k", o.top_k);
  read(given, "top_p", o.top_p);
  read(given, "min_p", o.min_p);
  read(given, "repetition_penalty", o.repetition_penalty);
  read(given, "seed", o.seed);
  read(given, "stop_at_end", o.stop_at_end);
  if (given.contains("stops")) o.stops = to_texts(given.get("stops"), "stop");
  return o;
}

// on_token(item, id, log_probability, text): False stops.
List generate_texts(const Model& model, const List& prompts, const Dict& given, const Object& on_token,
                    const Object& observe, const Object& intervene, const Object& progress,
                    const Object& threads) {
  std::vector<Prompt> list;
  for (const Object& prompt : prompts) list.push_back(to_prompt(from_python<Dict>(prompt, "a prompt")));
  GenerateOptions options = options_of(given);
  const std::unique_ptr<Observer> observer = observer_of(observe);
  const std::unique_ptr<Intervention> intervention = intervention_of(intervene);
  options.observer = observer.get();
  options.intervention = intervention.get();
  options.progress = progress_of(progress);
  if (!on_token.is_none()) {
    options.on_token = [&on_token](const GeneratedToken& token) {
      const HoldLock hold;
      return on_token(token.item, token.id, token.log_probability, from_text(token.text)).ptr() != Py_False;
    };
  }
  Context& ctx = context_for(threads);
  std::vector<GeneratedText> texts;
  {
    const ReleaseLock free;
    texts = generate(ctx, model, list, options);
  }
  return list_of(texts, from_generated);
}

List translate_texts(const Model& model, const Object& texts, Index beams, double length_penalty,
                     Index max_tokens, const Object& intervene, const Object& progress,
                     const Object& threads) {
  const std::vector<std::string> list = to_texts(texts, "texts");
  const std::unique_ptr<Intervention> intervention = intervention_of(intervene);
  const TranslateOptions options{.beams = beams,
                                 .length_penalty = length_penalty,
                                 .max_tokens = max_tokens,
                                 .intervention = intervention.get()};
  const Progress report = progress_of(progress);
  Context& ctx = context_for(threads);
  std::vector<Translation> found;
  {
    const ReleaseLock free;
    found = translate(ctx, model, list, options, report);
  }
  return list_of(found, [](const Translation& t) { return tuple_of(from_text(t.text), t.ids, t.score); });
}

Dict evaluate_texts(const Model& model, const Object& documents, Index context, const Object& progress,
                    const Object& threads) {
  const std::vector<std::string> list = to_texts(documents, "documents");
  const Progress report = progress_of(progress);
  Context& ctx = context_for(threads);
  Evaluation found;
  {
    const ReleaseLock free;
    found = evaluate(ctx, model, list, {.context = context}, report);
  }
  Dict out;
  out["nats"] = found.nats;
  out["tokens"] = found.tokens;
  out["nbytes"] = found.bytes;
  out["documents"] = found.documents;
  out["nats_per_token"] = found.nats_per_token();
  out["bits_per_byte"] = found.bits_per_byte();
  out["perplexity"] = found.perplexity();
  return out;
}

Dict score(const Object& sources, const Object& references, const Object& translations) {
  TestSet set;
  set.sources = to_texts(sources, "sources");
  for (const Object& list : references) set.references.push_back(to_texts(list, "references"));
  const TranslationScore found = score_translations(set, to_texts(translations, "translations"));
  Dict out;
  out["bleu"] = found.bleu;
  out["chrf"] = found.chrf;
  out["brevity"] = found.brevity;
  return out;
}

}  // namespace

void define_writing(const Module& module) {
  module.def<&generate_texts>("generate");
  module.def<&translate_texts>("translate");
  module.def<&evaluate_texts>("evaluate");
  module.def<&score>("score_translations");
}

}  // namespace headlight::python
