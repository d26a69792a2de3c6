// Kinds of changes to heads, and their effects in numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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

// One head removed.
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

struct HeadContribution {
  Part part = Part::decoder;
  HeadPlace head;
  double logit = 0;
};

// The stream is a sum, and logits are linear in it once the norms on its way divide by what they divided by in this
// run (frozen statistics). So a logit is a sum of what the embedding, each head, the feed-forward layers and the
// biases wrote. What later layers made of a head's words is in their share, not in its own.
struct Attribution {
  Index row = 0;
  TokenId token = 0;
  std::vector<HeadContribution> heads;  // by part, layer, head
  double embedding = 0, feed_forward = 0, biases = 0;
  double logit = 0;  // the model's own, before a softcap

  [[nodiscard]] double sum() const;
};

}  // namespace headlight

#pragma GCC visibility pop
