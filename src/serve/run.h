// One text through one model, with everything that can be asked about it later.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inspect/subject.h"
#include "models/generate.h"
#include "session/stored_attention.h"

namespace headlight::serve {

using session::StoredAttention;

inline constexpr std::string_view kSentence = "The animal didn't cross the street because it was too tired.";
inline constexpr Index kMostTokens = 1024;

struct RunRequest {
  std::string model, text;
  std::string second = {};              // for encoders that read two texts
  std::string target = {};              // a translation to look at; empty: the model's own
  std::vector<std::int32_t> more = {};  // tokens that a decoder has written after the text
  double temperature = 0;               // how a translation is drawn; 0: the likeliest
  Index top_k = 0, seed = 0;

  [[nodiscard]] std::string id() const;  // 16 digits made of all of it
};

struct Guess {
  std::int32_t token = 0;
  double probability = 0, logit = 0;
};
// What follows one position: the likeliest tokens, and the one that is there.
struct Prediction {
  std::vector<Guess> tops;
  Guess actual = {.token = -1};
  Index rank = 0;  // of the actual one, from 1
};

struct Run {
  std::string id;
  RunRequest request;
  std::shared_ptr<const inspect::Subject> subject;
  inspect::Question question;
  inspect::Reading decoder_input;  // of encoder-decoders
  std::vector<std::unique_ptr<StoredAttention>> attentions;
  std::vector<Prediction> predictions;  // one per row of the logits
  Tensor last_logits;                   // [1, vocabulary] of the last row

  [[nodiscard]] const StoredAttention* find(Part part, Index layer) const;
  [[nodiscard]] const inspect::Reading& queries(Part part) const;
  [[nodiscard]] const inspect::Reading& keys(Part part) const;
  [[nodiscard]] std::size_t bytes() const;
};

// Computes. `left` is asked between layers; when it says yes, ClientLeft is thrown. Throws Error otherwise.
[[nodiscard]] std::shared_ptr<const Run> make_run(Context& ctx,
                                                  std::shared_ptr<const inspect::Subject> subject,
                                                  const RunRequest& request,
                                                  const std::function<bool()>& left);

// The request for the same text with one token more, drawn from what the run predicts.
[[nodiscard]] RunRequest with_next_token(const Run& run, const models::SamplingOptions& options);

}  // namespace headlight::serve
