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

// Replacement for a head's output before the output projection.
enum class Change : std::uint8_t {
  zero,   // zeros
  mean,   // its mean over other texts
  scale,  // multiplied by a factor
  patch,  // its output in another run, token by token
  // One link only. cut_mask: hides the key, and the softmax redistributes the weight; cut_weight: the weight
  // becomes 0 and the others are unchanged.
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
  double kl = 0;                                   // at the position, nats
  double mean_kl = 0;                              // over all positions
  double log_probability = 0;                      // of the token: after - before
  double loss = 0;                                 // of the tokens of the text: after - before
  std::optional<double> direct = std::nullopt;     // direct effect on the token's logit, if defined
  std::optional<double> task_loss = std::nullopt;  // over a longer text, where one was given: after - before
};

struct HeadContribution {
  Part part = Part::decoder;
  HeadPlace head;
  double logit = 0;
};

// The residual stream is a sum, and logits are linear in it if the norms keep the statistics of this run (frozen
// statistics). So a logit is a sum of the contributions of the embedding, each head, the feed-forward layers and the
// biases. Effects of a head through later layers count for those layers.
struct Attribution {
  Index row = 0;
  TokenId token = 0;
  std::vector<HeadContribution> heads;  // by part, layer, head
  double embedding = 0, feed_forward = 0, biases = 0;
  double logit = 0;  // of the model, before a softcap

  [[nodiscard]] double sum() const;
};

}  // namespace headlight

#pragma GCC visibility pop
