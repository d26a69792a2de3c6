// Generation token by token: greedy, sampled, or by beam search.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/transformer.h"
#include "models/word_check.h"
#include "models/writer.h"

namespace headlight::models {

// Why a text ends.
enum class Ending : std::uint8_t {
  length,   // the requested number of tokens
  end,      // the model predicted its end token
  context,  // the context is full
  stopped,  // on_token returned false
};
[[nodiscard]] std::string_view name_of(Ending ending) noexcept;

struct NewToken {
  Index item = 0;  // which prompt it follows
  std::int32_t token = 0;
  double log_probability = 0;  // the model's own, whatever rule chose the token
};

// Rules apply in this order: repetition penalty, temperature, top_k, top_p, min_p.
struct SamplingOptions {
  Index most = 64;         // tokens to add
  double temperature = 0;  // 0: always the most likely
  Index top_k = 0;         // sample from the N most likely; 0: all
  double top_p = 1;        // smallest set of tokens whose probabilities sum to this
  double min_p = 0;        // minimum probability, relative to the most likely token
  // Logits of tokens that occur in the text, including the prompt: positive ones are divided by it,
  // negative ones multiplied. 1: none.
  double repetition_penalty = 1;
  std::uint64_t seed = 0;
  bool stop_at_eos = true;  // the end token is not returned
  Observer* observer = nullptr;
  Intervention* intervention = nullptr;
  // Called for every token; false ends that sequence.
  std::function<bool(const NewToken& token)> on_token = nullptr;
};

// Throws Error{usage} that names the invalid rule.
void check(const SamplingOptions& options);

// The continuation of one prompt.
struct Continuation {
  std::vector<std::int32_t> tokens;
  std::vector<double> log_probabilities;  // one for each
  Ending ending = Ending::length;
};

// Continues each prompt. A token depends only on the seed, the number of its sequence and its position.
[[nodiscard]] std::vector<Continuation> continue_prompts(Context& ctx, const Transformer& model,
                                                         const Tokens& prompts,
                                                         const SamplingOptions& options = {});
// Its tokens alone.
[[nodiscard]] std::vector<std::vector<std::int32_t>> generate(Context& ctx, const Transformer& model,
                                                              const Tokens& prompts,
                                                              const SamplingOptions& options = {});
// The same for encoder-decoders: one text for each source.
[[nodiscard]] std::vector<std::vector<std::int32_t>> transform(Context& ctx, const Transformer& model,
                                                               const Tokens& source,
                                                               const SamplingOptions& options = {});

// The largest number of tokens in a sequence of this model; 0: no known limit.
[[nodiscard]] Index context_of(const TransformerConfig& config) noexcept;

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // without the start and end tokens
  double score = 0;
  double penalty = 0;  // for unknown words, divided like the score; used only for the order
};
// A sentence after one step of a beam search: the texts that are continued, with their log-probabilities, and those that
// have ended, with their scores.
struct BeamStep {
  Index sentence = 0;
  std::vector<Hypothesis> going, finished;
};
struct BeamOptions {
  Index beams = 4;
  Index most = 64;
  std::span<const Index> most_each = {};  // a limit for each sentence in place of `most`
  double length_penalty = 1;  // scores are log-probability / length^penalty, the end's token included
  std::function<void(BeamStep step)> on_step = nullptr;  // after each step of each sentence
  WordCheck* words = nullptr;  // with the words of every source: prefers translations without unknown words
};
// Up to `beams` hypotheses per source, best first. A sentence is done when it has that many.
[[nodiscard]] std::vector<std::vector<Hypothesis>> beam_search(Context& ctx, Writer& writer,
                                                               const Tokens& source,
                                                               const BeamOptions& options = {});
[[nodiscard]] std::vector<std::vector<Hypothesis>> beam_search(Context& ctx, const Transformer& model,
                                                               const Tokens& source,
                                                               const BeamOptions& options = {},
                                                               const RunOptions& run = {});

// One token by the options' rules from a row of logits. `place` numbers the draw, `seen` are the tokens
// before it. Throws Error{numeric} when no logit is a number.
[[nodiscard]] std::int32_t choose_token(ConstTensorView logits, const SamplingOptions& options, Index item,
                                        Index place, std::span<const std::int32_t> seen = {});

}  // namespace headlight::models
