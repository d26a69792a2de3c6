// Kinds of changes to heads, and their effects in numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "headlight/head_place.h"
#include "headlight/tokenizer.h"

#pragma GCC visibility push(default)

namespace headlight {

// What becomes of a head's output before the output projection reads it.
enum class Change : std::uint8_t {
  zero,   // nothing is left of it
  mean,   // its mean over other texts
  scale,  // multiplied by a factor
  patch,  // its output in another run, token by token
  // One link alone. cut_mask: as if the query could not see the key, the other weights fill up; cut_weight: the weight
  // becomes 0 and the others stay as they are.
  cut_mask,
  cut_weight,
};
[[nodiscard]] std::string_view name_of(Change change) noexcept;  // "cut-mask"

struct TokenLink {
  Range queries, keys;  // tokens
};

struct TokenEffect {
  TokenId token = 0;
  double before = 0, after = 0;  // probabilities
  double logit_before = 0, logit_after = 0;
  Index rank_before = 0, rank_after = 0;
};

// One head knocked out.
struct SweptHead {
  Part part = Part::decoder;
  HeadPlace head;
  double kl = 0;               // at the position, nats
  double mean_kl = 0;          // over all positions
  double log_probability = 0;  // of the token: after - before
  double loss = 0;             // of the text's own tokens: after - before
  std::optional<double> direct =
      std::nullopt;  // what it adds to the token's logit by itself, where that is known
  std::optional<double> task_loss = std::nullopt;  // over a longer text, where one was given: after - before
};

}  // namespace headlight

#pragma GCC visibility pop
