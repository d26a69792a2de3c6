// A model with its tokenizer, ready to be looked into, and runs of it that are watched.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inspect/reading.h"
#include "models/generate.h"
#include "models/recurrent.h"
#include "models/transformer.h"

namespace headlight::inspect {

struct Subject {
  std::string name, folder;  // folder: or a .gguf file
  std::unique_ptr<models::Transformer> model;
  std::unique_ptr<models::RecurrentModel> recurrent = nullptr;  // in its place, where one is accepted
  std::vector<std::string> notices;                             // notes about the files
  std::optional<Tokenizer> tokenizer;  // none: the folder has no tokenizer, and ids must be given

  [[nodiscard]] Index layers(Part part) const;
  [[nodiscard]] Index heads(Part part) const;
  [[nodiscard]] bool has(Part part) const;
  [[nodiscard]] Part usual_part() const;  // the first that its text meets
};

// What a model reads of one text.
[[nodiscard]] models::Tokens one_sequence(const Reading& reading);

// A folder or a .gguf file, or a name that is looked for in `places`, as it is and as "headlight-NAME". Throws Error{file}
// when it is not there. "NAME+ADAPTER" keeps its adapter.
[[nodiscard]] std::string find_model(const std::string& name, const std::vector<std::string>& places);
// "MODEL+ADAPTER" is a model with an adapter (models/adapter.h), the folder of an adapter is the model that it was made
// for with it.
struct ModelPath {
  std::string model, adapter;
};
[[nodiscard]] ModelPath find_adapted_model(const std::string& name, const std::vector<std::string>& places);
// Recurrent models have no heads, so only who asks for them gets one.
enum class Accept : std::uint8_t { transformers, recurrent_too };
[[nodiscard]] Subject open_subject(const std::string& name, const std::vector<std::string>& places,
                                   Accept accept = Accept::transformers);

// What a model is given. An encoder-decoder also gets either the tokens that it writes, the end included, or its
// decoder's input token by token, the start included.
struct Question {
  Reading source = {};
  Reading written = {};
  Reading decoder_input = {};  // verbatim; `written` is then empty
  std::vector<std::int32_t> types = {};

  [[nodiscard]] bool runs_decoder() const { return !written.tokens.empty() || !decoder_input.tokens.empty(); }
};
// Two texts for an encoder that reads pairs. Throws Error{usage} when the model reads one text only.
[[nodiscard]] Question pair_question(const Subject& subject, const std::string& first,
                                     const std::string& second);
// What the decoder reads while it writes them: the start, then all but the last.
[[nodiscard]] Reading decoder_input(const Subject& subject, const Reading& written);
// The same of a question: its own input if it has one.
[[nodiscard]] Reading decoder_input(const Subject& subject, const Question& question);
// The best translation of a beam search, as tokens with the end token; `observer` sees the search, and the
// intervention changes it.
[[nodiscard]] Reading translate(Context& ctx, const Subject& subject, const Reading& source,
                                Observer* observer = nullptr, Intervention* intervention = nullptr);
// A translation drawn by chance. The options' `most` is not used.
[[nodiscard]] Reading draw_translation(Context& ctx, const Subject& subject, const Reading& source,
                                       models::SamplingOptions options);

// Runs the model under the observer; returns the logits, or nothing when only an encoder ran. Throws Error{input}
// when there are more tokens than the model can read.
Tensor watch(Context& ctx, const Subject& subject, const Question& question, Observer& observer);
// The hidden states of a run, [position, width]: what its logits are made of where it has_logits(), else the encoder's.
// The options' types are not read.
[[nodiscard]] Tensor hidden_states(Context& ctx, const Subject& subject, const Question& question,
                                   models::RunOptions options);
[[nodiscard]] bool has_logits(const Subject& subject, const Question& question);
// The same without an observer, or with an intervention; null: the unchanged model.
[[nodiscard]] Tensor run(Context& ctx, const Subject& subject, const Question& question,
                         Intervention* intervention = nullptr);

}  // namespace headlight::inspect
