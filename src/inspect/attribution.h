// Which heads speak for a token: what each adds to its logit by the direct way, along the stream.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/recorder.h"
#include "inspect/subject.h"

namespace headlight::inspect {

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
  std::int32_t token = 0;
  std::vector<HeadContribution> heads;  // by part, layer, head
  double embedding = 0, feed_forward = 0, biases = 0;
  double logit = 0;  // the model's own, before a softcap

  [[nodiscard]] double sum() const;
};

// Heads of the stack that the logits come from: an encoder-decoder's encoder speaks through cross-attention alone.
// Throws Error{usage} for models without logits, or with an activation between the stream and them.
[[nodiscard]] Attribution attribute_logit(Context& ctx, const Subject& subject, const Question& question,
                                          Index row, std::int32_t token);

}  // namespace headlight::inspect
