// From a Prompt to the tokens that a model reads.
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "session/state.h"

namespace headlight::session {
namespace {

using inspect::EncodedText;
using inspect::LoadedModel;
using inspect::ModelInput;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::usage, "prompt", what); }

constexpr std::string_view kTarget = "target_ids";  // the field for ids of a translation

EncodedText read(const LoadedModel& loaded, const std::string& text, const std::vector<std::int32_t>& ids,
                 std::string_view field) {
  const Tokenizer* tokenizer = loaded.tokenizer ? &*loaded.tokenizer : nullptr;
  if (!ids.empty()) return inspect::read_ids(tokenizer, ids, loaded.model->config().vocabulary);
  if (tokenizer == nullptr) {
    throw Error(ErrorKind::usage, "prompt.tokenizer",
                concat("\"", escaped(loaded.name),
                       "\" has no tokenizer, so it cannot read text; give token ids (", field, ")"));
  }
  return inspect::read_text(field == kTarget ? tokenizer->for_target() : *tokenizer, text);
}

// Checks that a speech model gets features and nothing else.
void check_features(const LoadedModel& loaded, const Prompt& prompt) {
  const auto& sound = loaded.model->config().sound;
  if (prompt.features == nullptr) {
    if (sound)
      throw Error(ErrorKind::usage, "prompt.features",
                  concat("\"", escaped(loaded.name), "\" reads sound features; give an array of ",
                         sound->bands, " bands and ", 2 * sound->positions, " frames (features)"));
    return;
  }
  if (!sound) refuse(concat("sound features were given, but \"", escaped(loaded.name), "\" reads text"));
  if (!prompt.text.empty() || !prompt.ids.empty())
    refuse("text, ids and features exclude each other; give one of them");
  const Tensor& f = *prompt.features;
  const Index frames = 2 * sound->positions;
  if (f.rank() != 2 || f.dim(0) != sound->bands || f.dim(1) != frames || f.dtype() != DType::f32)
    throw Error(ErrorKind::input, "prompt.features",
                concat("the features are ", name_of(f.dtype()), " ", f.shape().text(), "; \"",
                       escaped(loaded.name), "\" reads f32 [", sound->bands, ", ", frames,
                       "]: one row for each band, one column for each frame"));
  for (Index i = 0; i < f.shape().elements(); ++i)
    if (!std::isfinite(f.as<float>()[i]))
      throw Error(ErrorKind::input, "prompt.features",
                  concat("the features have ", f.as<float>()[i], " in band ", i / frames, ", frame ",
                         i % frames, "; all of them must be finite"));
}

void check_fields(const LoadedModel& loaded, const Prompt& prompt) {
  check_features(loaded, prompt);
  const models::ModelKind kind = loaded.model->config().kind;
  const bool has_target = !prompt.target.empty() || !prompt.target_ids.empty();
  if (!prompt.text.empty() && !prompt.ids.empty())
    refuse("text and ids exclude each other; give one of them");
  if (!prompt.target.empty() && !prompt.target_ids.empty())
    refuse("target and target_ids exclude each other; give one of them");
  if (!prompt.second.empty() && (!prompt.ids.empty() || !prompt.type_ids.empty() || has_target))
    refuse("a second text needs a first text only; leave out ids, type_ids and the target");
  if (has_target && kind != models::ModelKind::encoder_decoder)
    refuse(concat("a target was given, but \"", escaped(loaded.name), "\" does not translate"));
  if (!prompt.continuation.empty() && kind != models::ModelKind::decoder)
    refuse("only decoders have tokens after the text");
}

// Generated tokens come after the last byte of the text.
void add_continuation(const LoadedModel& loaded, const std::vector<std::int32_t>& ids, EncodedText& encoded) {
  if (ids.empty()) return;
  const EncodedText more = inspect::read_ids(loaded.tokenizer ? &*loaded.tokenizer : nullptr, ids,
                                             loaded.model->config().vocabulary);
  for (inspect::EncodedToken token : more.tokens) {
    token.begin = token.end = encoded.text.size();
    encoded.tokens.push_back(std::move(token));
  }
}

EncodedText translation(Context& ctx, const LoadedModel& loaded, const EncodedText& source,
                        const DrawOptions& draw, const Progress& progress) {
  CancelObserver observer(progress);
  Observer* watching = progress.cancelled ? &observer : nullptr;
  if (draw.temperature <= 0) return inspect::translate(ctx, loaded, source, watching);
  models::SamplingOptions options;
  options.temperature = draw.temperature;
  options.top_k = draw.top_k;
  options.seed = draw.seed;
  options.observer = watching;
  return inspect::draw_translation(ctx, loaded, source, options);
}

}  // namespace

ModelInput input_of(Context& ctx, const ModelState& model, const Prompt& prompt, Needs needs,
                    const DrawOptions& draw, const Progress& progress) {
  const LoadedModel& loaded = model.loaded;
  check_fields(loaded, prompt);
  if (!prompt.second.empty()) return inspect::pair_input(loaded, prompt.text, prompt.second);
  ModelInput input;
  input.source = prompt.features != nullptr
                     ? inspect::read_features(*prompt.features, prompt.features->dim(1) / 2)
                     : read(loaded, prompt.text, prompt.ids, "ids");
  input.types = prompt.type_ids;
  add_continuation(loaded, prompt.continuation, input.source);
  if (loaded.model->config().kind != models::ModelKind::encoder_decoder) return input;
  if (!prompt.target_ids.empty()) {
    input.decoder_input = read(loaded, "", prompt.target_ids, kTarget);
    input.decoder_input.tokens.front().added = true;
  } else if (!prompt.target.empty()) {
    input.written = read(loaded, prompt.target, {}, kTarget);
  } else if (needs == Needs::target) {
    input.written = translation(ctx, loaded, input.source, draw, progress);
  }
  return input;
}

TokenizedText tokenized(const EncodedText& encoded) {
  TokenizedText out;
  out.text = encoded.text;
  out.second = encoded.second;
  for (const inspect::EncodedToken& token : encoded.tokens)
    out.tokens.push_back({token.id, token.label, token.begin, token.end, token.added, token.type, 0});
  for (const inspect::Word& word : inspect::words_of(encoded)) {
    for (Index i = word.tokens.begin; i < word.tokens.end; ++i)
      out.tokens[static_cast<std::size_t>(i)].word = static_cast<Index>(out.words.size());
    out.words.push_back({word.label, word.tokens});
  }
  return out;
}

EncodedText encoded_text(const TokenizedText& text) {
  EncodedText out;
  out.text = text.text;
  out.second = text.second;
  for (const Token& token : text.tokens)
    out.tokens.push_back({token.id, token.text, token.begin, token.end, token.special, token.type});
  return out;
}

}  // namespace headlight::session
