// The input of a model, and runs of the model: with an observer, with an intervention, or plain.
#pragma once

#include <string>
#include <vector>

#include "inspect/encoded_text.h"
#include "inspect/loaded_model.h"
#include "models/generate.h"

namespace headlight::inspect {

// The input of a model. For an encoder-decoder also either the tokens that it writes, with the end token, or the input of
// its decoder token by token, with the start token.
struct ModelInput {
  EncodedText source = {};
  EncodedText written = {};
  EncodedText decoder_input = {};  // verbatim; `written` is then empty
  std::vector<std::int32_t> types = {};

  [[nodiscard]] bool runs_decoder() const { return !written.tokens.empty() || !decoder_input.tokens.empty(); }
};
// One text as a batch of one sequence.
[[nodiscard]] models::Tokens one_sequence(const EncodedText& encoded);
// Two texts for an encoder that reads pairs. Throws Error{usage} if the model reads only one text.
[[nodiscard]] ModelInput pair_input(const LoadedModel& loaded, const std::string& first,
                                    const std::string& second);
// The decoder's input while it writes these tokens: the start token, then all but the last.
[[nodiscard]] EncodedText decoder_input(const LoadedModel& loaded, const EncodedText& written);
// The same for a model input: its own decoder input if it has one.
[[nodiscard]] EncodedText decoder_input(const LoadedModel& loaded, const ModelInput& input);
// The best translation of a beam search, as tokens with the end token. `observer` and the intervention apply to the search.
[[nodiscard]] EncodedText translate(Context& ctx, const LoadedModel& loaded, const EncodedText& source,
                                    Observer* observer = nullptr, Intervention* intervention = nullptr);
// A sampled translation. `most` of the options is not used.
[[nodiscard]] EncodedText draw_translation(Context& ctx, const LoadedModel& loaded, const EncodedText& source,
                                           models::SamplingOptions options);

// Runs the model with the observer. Returns the logits, or an empty tensor if only an encoder ran. Throws Error{input} if
// there are more tokens than the model can read.
Tensor watch(Context& ctx, const LoadedModel& loaded, const ModelInput& input, Observer& observer);
// The hidden states of a run, [position, width]: those from which the logits are computed if the model has_logits(), else
// the encoder's. `types` of the options is not read.
[[nodiscard]] Tensor hidden_states(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                   models::RunOptions options);
[[nodiscard]] bool has_logits(const LoadedModel& loaded, const ModelInput& input);
// The same without an observer, or with an intervention; null: the unchanged model.
[[nodiscard]] Tensor run(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                         Intervention* intervention = nullptr);

}  // namespace headlight::inspect
