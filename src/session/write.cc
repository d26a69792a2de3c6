#include "headlight/write.h"

#include <algorithm>
#include <memory>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/generate.h"
#include "models/translate.h"
#include "session/state.h"
#include "text/text_stream.h"
#include "text/translation_score.h"

namespace headlight {
namespace {

const Tokenizer& tokenizer_of(const Model& model) {
  if (model.tokenizer() != nullptr) return *model.tokenizer();
  throw Error(ErrorKind::input, "write.tokenizer",
              concat("the model \"", escaped(model.info().name),
                     "\" has no tokenizer, so it can neither read nor write text"));
}

// An end token that the tokenizer adds is removed, because the text continues. A prompt without any token
// starts like the training texts of the model.
std::vector<TokenId> prompt_ids(const Model& model, const Prompt& prompt, std::size_t number) {
  const models::TransformerConfig& config = model.state().loaded.model->config();
  std::vector<TokenId> ids = prompt.ids;
  if (ids.empty()) {
    std::vector<TokenPiece> pieces = tokenizer_of(model).encode_pieces(prompt.text);
    if (!pieces.empty() && pieces.back().added && config.is_end(pieces.back().id)) pieces.pop_back();
    for (const TokenPiece& piece : pieces) ids.push_back(piece.id);
  }
  ids.insert(ids.end(), prompt.continuation.begin(), prompt.continuation.end());
  for (const TokenId id : ids)
    if (id < 0 || id >= config.vocabulary)
      throw Error(ErrorKind::input, "generate.id",
                  concat("token id ", id, " is not between 0 and ", config.vocabulary - 1));
  if (ids.empty()) {
    const TokenId start = config.bos >= 0 ? config.bos : config.end();
    if (start < 0) throw Error(ErrorKind::input, "generate.prompt", "the prompt is empty; give a few words");
    ids.push_back(start);
  }
  const Index limit = model.info().context;
  if (limit > 0 && static_cast<Index>(ids.size()) > limit)
    throw Error(ErrorKind::input, "generate.length",
                concat("prompt ", number + 1, " has ", ids.size(), " tokens; the model \"",
                       escaped(model.info().name), "\" reads at most ", limit,
                       "\n"
                       "Shorten the prompt, or use a model with a longer context."));
  return ids;
}

// The state of one prompt during generation. Without a tokenizer it has no text.
struct Story {
  std::optional<text::TokenText> tokens;
  text::StopStrings stops;
  std::string written = {};

  std::string add(TokenId token) { return keep(tokens ? stops.add(tokens->add(token)) : ""); }
  void finish() {
    if (!tokens || stops.found()) return;
    const std::string rest = stops.add(tokens->finish());
    (void)keep(rest + stops.finish());
  }

 private:
  std::string keep(std::string fresh) {
    written += fresh;
    return fresh;
  }
};

models::SamplingOptions sampling_of(const GenerateOptions& o) {
  models::SamplingOptions out;
  out.most = o.max_tokens;
  out.temperature = o.temperature;
  out.top_k = o.top_k;
  out.top_p = o.top_p;
  out.min_p = o.min_p;
  out.repetition_penalty = o.repetition_penalty;
  out.seed = o.seed;
  out.stop_at_eos = o.stop_at_end;
  out.observer = o.observer;
  out.intervention = o.intervention;
  return out;
}

Ending ending_of(models::Ending ending) {
  switch (ending) {
    case models::Ending::length: return Ending::length;
    case models::Ending::end: return Ending::end;
    case models::Ending::context: return Ending::context;
    case models::Ending::stopped: return Ending::stopped;
  }
  return Ending::length;
}

}  // namespace

void check(const GenerateOptions& options) { models::check(sampling_of(options)); }

std::string_view name_of(Ending ending) noexcept {
  switch (ending) {
    case Ending::length: return "length";
    case Ending::end: return "end";
    case Ending::context: return "context";
    case Ending::stopped: return "stop";
  }
  return "?";
}

std::vector<GeneratedText> generate(Context& ctx, const Model& model, std::span<const Prompt> prompts,
                                    const GenerateOptions& options) {
  if (model.info().kind != ModelKind::decoder)
    throw Error(ErrorKind::usage, "generate.kind",
                concat("the model \"", escaped(model.info().name), "\" does not continue texts: it is an ",
                       model.info().kind == ModelKind::encoder ? "encoder" : "encoder-decoder"));
  for (const std::string& stop : options.stops)
    if (stop.empty()) throw Error(ErrorKind::usage, "generate.stop", "a stop string is empty");
  if (!options.stops.empty()) (void)tokenizer_of(model);
  models::SamplingOptions sampling = sampling_of(options);
  models::check(sampling);
  std::vector<GeneratedText> texts(prompts.size());
  std::vector<Story> stories;
  models::Tokens tokens;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    texts[i].prompt_ids = prompt_ids(model, prompts[i], i);
    tokens.append(texts[i].prompt_ids);
    stories.push_back({std::nullopt, text::StopStrings(options.stops)});
    if (model.tokenizer() != nullptr) stories.back().tokens.emplace(*model.tokenizer(), texts[i].prompt_ids);
  }
  if (options.on_start) options.on_start(texts);
  Index written = 0;
  const double most = static_cast<double>(options.max_tokens) * static_cast<double>(prompts.size());
  sampling.on_token = [&](const models::NewToken& token) {
    Story& story = stories[static_cast<std::size_t>(token.item)];
    const std::string fresh = story.add(token.token);
    options.progress.tell("tokens", static_cast<double>(++written), most);
    options.progress.check();
    const bool goes_on =
        !options.on_token || options.on_token({token.item, token.token, token.log_probability, fresh});
    return goes_on && !story.stops.found();
  };
  std::vector<models::Continuation> results =
      models::continue_prompts(ctx, *model.state().loaded.model, tokens, sampling);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    stories[i].finish();
    texts[i].ids = std::move(results[i].tokens);
    texts[i].log_probabilities = std::move(results[i].log_probabilities);
    texts[i].text = std::move(stories[i].written);
    texts[i].ending = ending_of(results[i].ending);
    texts[i].stopped_by_string = stories[i].stops.found();
  }
  return texts;
}

std::vector<Translation> translate(Context& ctx, const Model& model, std::span<const std::string> texts,
                                   const TranslateOptions& options, const Progress& progress) {
  if (model.info().kind != ModelKind::encoder_decoder)
    throw Error(ErrorKind::usage, "translate.kind",
                concat("the model \"", escaped(model.info().name), "\" does not translate: it is ",
                       model.info().kind == ModelKind::encoder ? "an encoder" : "a decoder"));
  const inspect::LoadedModel& loaded = model.state().loaded;
  session::CancelObserver observer(progress);
  std::unique_ptr<models::Writer> writer;
  if (loaded.recurrent) writer = std::make_unique<models::RecurrentWriter>(*loaded.recurrent);
  else
    writer = std::make_unique<models::TransformerWriter>(
        *loaded.model, models::RunOptions{.observer = progress.cancelled ? &observer : nullptr,
                                          .intervention = options.intervention});
  models::TranslateOptions beams;
  beams.first_number = options.first_number;
  beams.beams = options.beams;
  beams.length_penalty = options.length_penalty;
  beams.most = options.max_tokens;
  if (options.known_words) beams.words = loaded.words.get();
  if (options.on_step) {
    if (texts.size() != 1)
      throw Error(ErrorKind::usage, "translate.steps",
                  concat("on_step follows a single text; ", texts.size(), " were given"));
    const auto shown = [&](std::vector<models::Hypothesis>& all) {
      std::vector<Translation> out;
      for (models::Hypothesis& h : all) {
        std::string text = tokenizer_of(model).decode(h.tokens);
        out.push_back({std::move(text), std::move(h.tokens), h.score});
      }
      return out;
    };
    beams.on_step = [&, shown](models::BeamStep step) {
      options.on_step({shown(step.going), shown(step.finished)});
    };
  }
  beams.on_progress = [&](Index done) {
    progress.tell("texts", static_cast<double>(done), static_cast<double>(texts.size()));
  };
  std::vector<Translation> out;
  for (models::Translation& t : models::translate(ctx, *writer, tokenizer_of(model), texts, beams))
    out.push_back({std::move(t.text), std::move(t.tokens), t.score});
  return out;
}

Index cut_sources(TestSet& set, const Model& model) {
  const Index limit = model.info().context;
  const Tokenizer* tokenizer = model.tokenizer();
  if (limit <= 0 || tokenizer == nullptr) return 0;
  const auto added = static_cast<Index>(tokenizer->encode("").size());  // special tokens around a text
  Index cut = 0;
  for (std::string& source : set.sources) {
    std::vector<TokenSpan> spans = tokenizer->encode_spans(source, SpecialTokens::leave_out);
    if (static_cast<Index>(spans.size()) + added <= limit) continue;
    ++cut;
    // A shorter text may have other tokens at its end, and more of them.
    for (Index kept = limit - added; kept > 0 && static_cast<Index>(spans.size()) + added > limit; --kept) {
      source.resize(spans[static_cast<std::size_t>(kept) - 1].end);
      spans = tokenizer->encode_spans(source, SpecialTokens::leave_out);
    }
  }
  return cut;
}

TranslationScore score_translations(const TestSet& set, std::span<const std::string> translations) {
  if (set.sources.size() != translations.size() || set.sources.size() != set.references.size())
    throw Error(ErrorKind::usage, "score.count",
                concat(translations.size(), " translations for ", set.sources.size(),
                       " sentences; need one for "
                       "each"));
  std::vector<text::ScoredSentence> sentences;
  TranslationScore score;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    sentences.push_back({translations[i], set.references[i]});
    score.references += static_cast<Index>(set.references[i].size());
  }
  const text::Bleu bleu = text::bleu(sentences);
  score.bleu = bleu.score;
  score.brevity = bleu.brevity;
  for (std::size_t n = 0; n < bleu.shared.size(); ++n)
    score.shared.push_back(static_cast<double>(bleu.shared[n]) /
                           static_cast<double>(std::max<std::int64_t>(bleu.written[n], 1)));
  score.chrf = text::chrf(sentences);
  score.sentences = static_cast<Index>(sentences.size());
  return score;
}

}  // namespace headlight
