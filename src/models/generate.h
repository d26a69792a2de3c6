// Writing: one token after another, the likeliest or drawn by chance, or many beams at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/transformer.h"

namespace headlight::models {

struct SamplingOptions {
  Index most = 64;         // tokens to add
  double temperature = 0;  // 0: always the likeliest
  Index top_k = 0;         // only among so many; 0: all
  double top_p = 1;        // only among the likeliest that have this much together
  std::uint64_t seed = 0;
  bool stop_at_eos = true;  // the end's own token is not returned
  Observer* observer = nullptr;
  // Told of every token; false ends that sequence.
  std::function<bool(Index item, std::int32_t token)> on_token = nullptr;
};

// What follows each prompt. A token depends on the seed, its sequence's number and its place alone.
[[nodiscard]] std::vector<std::vector<std::int32_t>> generate(Context& ctx, const Transformer& model,
                                                              const Tokens& prompts,
                                                              const SamplingOptions& options = {});
// The same for encoder-decoders: what each source becomes.
[[nodiscard]] std::vector<std::vector<std::int32_t>> transform(Context& ctx, const Transformer& model,
                                                               const Tokens& source,
                                                               const SamplingOptions& options = {});

struct BeamOptions {
  Index beams = 4;
  Index most = 64;
  std::span<const Index> most_each = {};  // a limit for each sentence in place of `most`
  double length_penalty = 1;  // scores are log-probability / length^penalty, the end's token included
  Observer* observer = nullptr;
  Decoding* memory = nullptr;  // where the caches of one search stay for the next
};
struct Hypothesis {
  std::vector<std::int32_t> tokens;  // without the start and the end
  double score = 0;
};
// Per source up to `beams` hypotheses, best first. A sentence is done when it has that many.
[[nodiscard]] std::vector<std::vector<Hypothesis>> beam_search(Context& ctx, const Transformer& model,
                                                               const Tokens& source,
                                                               const BeamOptions& options = {});

// One token by the options' rule from a row of logits. `place` numbers the draw.
[[nodiscard]] std::int32_t choose_token(ConstTensorView logits, const SamplingOptions& options, Index item,
                                        Index place);

}  // namespace headlight::models
