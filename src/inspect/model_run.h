// The tokens that a model is given, and runs of it: observed, changed or plain.
#pragma once

#include <string>
#include <vector>

#include "inspect/encoded_text.h"
#include "inspect/loaded_model.h"
#include "models/generate.h"

namespace headlight::inspect {

// What a model is given. An encoder-decoder also gets either the tokens that it writes, the end included, or its
// decoder's input token by token, the start included.
struct ModelInput {
  EncodedText source = {};
  EncodedText written = {};
  EncodedText decoder_input = {};  // verbatim; `written` is then empty
  std::vector<std::int32_t> types = {};

  [[nodiscard]] bool runs_decoder() const { return !written.tokens.empty() || !decoder_input.tokens.empty(); }
};
// One text as a batch of one sequence.
[[nodiscard]] models::Tokens one_sequence(const EncodedText& encoded);
// Two texts for an encoder that reads pairs. Throws Error{usage} when the model reads one text only.
[[nodiscard]] ModelInput pair_input(const LoadedModel& loaded, const std::string& first,
                                    const std::string& second);
// What the decoder reads while it writes them: the start, then all but the last.
[[nodiscard]] EncodedText decoder_input(const LoadedModel& loaded, const EncodedText& written);
// The same for a model input: its own decoder input if it has one.
[[nodiscard]] EncodedText decoder_input(const LoadedModel& loaded, const ModelInput& input);
// The best translation of a beam search, as tokens with the end token; `observer` sees the search, and the
// intervention changes it.
[[nodiscard]] EncodedText translate(Context& ctx, const LoadedModel& loaded, const EncodedText& source,
                                    Observer* observer = nullptr, Intervention* intervention = nullptr);
// A translation drawn by chance. The options' `most` is not used.
[[nodiscard]] EncodedText draw_translation(Context& ctx, const LoadedModel& loaded, const EncodedText& source,
                                           models::SamplingOptions options);

// Runs the model under the observer; returns the logits, or nothing when only an encoder ran. Throws Error{input}
// when there are more tokens than the model can read.
Tensor watch(Context& ctx, const LoadedModel& loaded, const ModelInput& input, Observer& observer);
// The hidden states of a run, [position, width]: what its logits are made of where it has_logits(), else the encoder's.
// The options' types are not read.
[[nodiscard]] Tensor hidden_states(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                   models::RunOptions options);
[[nodiscard]] bool has_logits(const LoadedModel& loaded, const ModelInput& input);
// The same without an observer, or with an intervention; null: the unchanged model.
[[nodiscard]] Tensor run(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                         Intervention* intervention = nullptr);

}  // namespace headlight::inspect
