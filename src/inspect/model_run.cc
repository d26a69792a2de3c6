#include "inspect/model_run.h"

#include <algorithm>
#include <optional>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::inspect {
namespace {

using models::ModelKind;

void check_length(const LoadedModel& loaded, const EncodedText& encoded, std::string_view what) {
  const models::TransformerConfig& config = loaded.model->config();
  const Index most = config.max_positions;
  if (encoded.features != nullptr) return;  // the encoder checks their length
  if (most > 0 && encoded.size() > most) {
    throw Error(ErrorKind::input, "inspect.length",
                concat(what, " has ", encoded.size(), " tokens; the model \"", escaped(loaded.name),
                       "\" reads at most ", most,
                       "\n"
                       "Shorten the text, or use a model with a longer context."));
  }
}

// Limits the translation: one is rarely more than twice as long as its source.
Index most_written(const LoadedModel& loaded, const EncodedText& source) {
  const Index positions = loaded.model->config().max_positions;
  return std::min<Index>(positions > 0 ? positions - 1 : 512, 2 * source.size() + 16);
}

// Written tokens for display, with the end token.
EncodedText written_text(const LoadedModel& loaded, std::vector<std::int32_t> ids) {
  const models::TransformerConfig& config = loaded.model->config();
  if (config.end() >= 0) ids.push_back(config.end());
  if (loaded.tokenizer) return read_written(*loaded.tokenizer, ids);
  EncodedText encoded = read_ids(nullptr, ids, config.vocabulary);
  if (config.end() >= 0) encoded.tokens.back().added = true;
  return encoded;
}

}  // namespace

models::Tokens one_sequence(const EncodedText& encoded) {
  models::Tokens tokens;
  tokens.append(encoded.ids());
  tokens.features = encoded.features;
  return tokens;
}

ModelInput pair_input(const LoadedModel& loaded, const std::string& first, const std::string& second) {
  if (loaded.model->config().kind != ModelKind::encoder) {
    throw Error(ErrorKind::usage, "inspect.pair",
                concat("\"", escaped(loaded.name), "\" reads one text; only encoders such as BERT read two"));
  }
  if (!loaded.tokenizer) {
    throw Error(
        ErrorKind::usage, "inspect.pair",
        concat("\"", escaped(loaded.name),
               "\" has no tokenizer, so it cannot read text; give token ids with --ids and --type-ids"));
  }
  ModelInput input;
  input.source = read_pair(*loaded.tokenizer, first, second);
  const bool told_apart = loaded.model->config().embedding.token_types > 1;
  for (const EncodedToken& token : input.source.tokens)
    if (told_apart) input.types.push_back(token.type);
  return input;
}

EncodedText decoder_input(const LoadedModel& loaded, const EncodedText& written) {
  const models::TransformerConfig& config = loaded.model->config();
  const std::int32_t start = config.decoder_start >= 0 ? config.decoder_start : config.bos;
  if (start < 0) {
    throw Error(ErrorKind::input, "inspect.start", "config.json of the model has no decoder_start_token_id");
  }
  EncodedText input = read_ids(loaded.tokenizer ? &*loaded.tokenizer : nullptr, {start}, config.vocabulary);
  input.tokens.insert(input.tokens.end(), written.tokens.begin(), written.tokens.end() - 1);
  input.tokens[0].added = true;
  input.text = written.text;
  return input;
}

EncodedText decoder_input(const LoadedModel& loaded, const ModelInput& input) {
  return input.decoder_input.tokens.empty() ? decoder_input(loaded, input.written) : input.decoder_input;
}

EncodedText translate(Context& ctx, const LoadedModel& loaded, const EncodedText& source, Observer* observer,
                      Intervention* intervention) {
  check_length(loaded, source, "the text");
  models::BeamOptions options;
  options.most = most_written(loaded, source);
  std::optional<models::WordCheck> words;
  if (loaded.words) {
    words.emplace(*loaded.words, *loaded.tokenizer).add_source(one_sequence(source).ids);
    options.words = &*words;
  }
  const models::RunOptions run{.observer = observer, .intervention = intervention};
  return written_text(
      loaded, models::beam_search(ctx, *loaded.model, one_sequence(source), options, run)[0].at(0).tokens);
}

EncodedText draw_translation(Context& ctx, const LoadedModel& loaded, const EncodedText& source,
                             models::SamplingOptions options) {
  check_length(loaded, source, "the text");
  options.most = most_written(loaded, source);
  return written_text(loaded, models::transform(ctx, *loaded.model, one_sequence(source), options)[0]);
}

bool has_logits(const LoadedModel& loaded, const ModelInput& input) {
  const models::TransformerConfig& config = loaded.model->config();
  return !config.head.absent && (config.kind != ModelKind::encoder_decoder || input.runs_decoder());
}

Tensor hidden_states(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                     models::RunOptions options) {
  const models::Transformer& model = *loaded.model;
  check_length(loaded, input.source, "the text");
  const models::Tokens source = one_sequence(input.source);
  options.types = input.types;
  if (!input.types.empty() && input.types.size() != input.source.tokens.size()) {
    throw Error(ErrorKind::usage, "inspect.types",
                concat(input.types.size(), " segment numbers for ", input.source.size(),
                       " tokens; need one for each"));
  }
  if (model.config().kind != ModelKind::encoder_decoder) return model.hidden_states(ctx, source, options);
  if (!input.runs_decoder()) return model.encode(ctx, source, options);
  const EncodedText read = decoder_input(loaded, input);
  check_length(loaded, read, "the target");
  return model.hidden_states(ctx, source, one_sequence(read), options);
}

namespace {

Tensor run(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
           const models::RunOptions& options) {
  const Tensor hidden = hidden_states(ctx, loaded, input, options);
  return has_logits(loaded, input) ? loaded.model->logits_of(ctx, hidden) : Tensor();
}

}  // namespace

Tensor watch(Context& ctx, const LoadedModel& loaded, const ModelInput& input, Observer& observer) {
  return run(ctx, loaded, input, models::RunOptions{.observer = &observer});
}

Tensor run(Context& ctx, const LoadedModel& loaded, const ModelInput& input, Intervention* intervention) {
  return run(ctx, loaded, input, models::RunOptions{.intervention = intervention});
}

}  // namespace headlight::inspect
