// Text generation: continuation, translation, and the probabilities of given texts.
#include "bindings/model.h"
#include "headlight/write.h"

namespace headlight::python {
namespace {

py::dict from_generated(const GeneratedText& text) {
  py::dict out;
  out["prompt_ids"] = py::cast(text.prompt_ids);
  out["ids"] = py::cast(text.ids);
  out["log_probabilities"] = py::cast(text.log_probabilities);
  out["text"] = from_text(text.text);
  out["ending"] = from_text(name_of(text.ending));
  return out;
}

template <class T>
void read(const py::dict& options, const char* key, T& field) {
  if (!options.contains(key)) return;
  if constexpr (std::is_same_v<T, bool>) field = to_switch(options[key], key);
  else if constexpr (std::is_floating_point_v<T>) field = to_number(options[key], key);
  else field = static_cast<T>(to_index(options[key], key));
}

GenerateOptions options_of(const py::dict& given) {
  GenerateOptions o;
  read(given, "max_tokens", o.max_tokens);
  read(given, "temperature", o.temperature);
  read(given, "top_k", o.top_k);
  read(given, "top_p", o.top_p);
  read(given, "min_p", o.min_p);
  read(given, "repetition_penalty", o.repetition_penalty);
  read(given, "seed", o.seed);
  read(given, "stop_at_end", o.stop_at_end);
  if (given.contains("stops")) o.stops = to_texts(given["stops"], "stop");
  return o;
}

// on_token(item, id, log_probability, text): False stops.
py::list generate_texts(const Model& model, const py::list& prompts, const py::dict& given,
                        const py::object& on_token, const py::object& observe, const py::object& intervene,
                        const py::object& progress, const py::object& threads) {
  std::vector<Prompt> list;
  for (const py::handle prompt : prompts) list.push_back(to_prompt(py::cast<py::dict>(prompt)));
  GenerateOptions options = options_of(given);
  const std::unique_ptr<Observer> observer = observer_of(observe);
  const std::unique_ptr<Intervention> intervention = intervention_of(intervene);
  options.observer = observer.get();
  options.intervention = intervention.get();
  options.progress = progress_of(progress);
  if (!on_token.is_none()) {
    options.on_token = [&on_token](const GeneratedToken& token) {
      const py::gil_scoped_acquire hold;
      return on_token(token.item, token.id, token.log_probability, from_text(token.text)).ptr() != Py_False;
    };
  }
  Context& ctx = context_for(threads);
  std::vector<GeneratedText> texts;
  {
    const py::gil_scoped_release free;
    texts = generate(ctx, model, list, options);
  }
  return list_of(texts, from_generated);
}

py::list translate_texts(const Model& model, const py::object& texts, Index beams, double length_penalty,
                         Index max_tokens, const py::object& intervene, const py::object& progress,
                         const py::object& threads) {
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
    const py::gil_scoped_release free;
    found = translate(ctx, model, list, options, report);
  }
  return list_of(found, [](const Translation& t) {
    return py::make_tuple(from_text(t.text), py::cast(t.ids), t.score);
  });
}

py::dict evaluate_texts(const Model& model, const py::object& documents, Index context,
                        const py::object& progress, const py::object& threads) {
  const std::vector<std::string> list = to_texts(documents, "documents");
  const Progress report = progress_of(progress);
  Context& ctx = context_for(threads);
  Evaluation found;
  {
    const py::gil_scoped_release free;
    found = evaluate(ctx, model, list, {.context = context}, report);
  }
  py::dict out;
  out["nats"] = found.nats;
  out["tokens"] = found.tokens;
  out["nbytes"] = found.bytes;
  out["documents"] = found.documents;
  out["nats_per_token"] = found.nats_per_token();
  out["bits_per_byte"] = found.bits_per_byte();
  out["perplexity"] = found.perplexity();
  return out;
}

py::dict score(const py::object& sources, const py::object& references, const py::object& translations) {
  TestSet set;
  set.sources = to_texts(sources, "sources");
  for (const py::handle list : references) set.references.push_back(to_texts(list, "references"));
  const TranslationScore found = score_translations(set, to_texts(translations, "translations"));
  py::dict out;
  out["bleu"] = found.bleu;
  out["chrf"] = found.chrf;
  out["brevity"] = found.brevity;
  return out;
}

}  // namespace

void define_writing(py::module_& module) {
  module.def("generate", &generate_texts);
  module.def("translate", &translate_texts);
  module.def("evaluate", &evaluate_texts);
  module.def("score_translations", &score);
}

}  // namespace headlight::python
