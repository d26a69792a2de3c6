// One run of a model over a text, kept for later requests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlight/look.h"
#include "headlight/run.h"
#include "inspect/recorder.h"
#include "models/generate.h"
#include "session/glance.h"
#include "session/state.h"

namespace headlight::serve {

using session::StoredAttention;

inline constexpr std::string_view kSentence = session::kTiredSentence;
inline constexpr Index kMostTokens = 8192;

struct RunRequest {
  std::string model, text;
  std::string second = {};              // for encoders that read two texts
  std::string target = {};              // the translation; empty: the model's own
  std::vector<std::int32_t> more = {};  // tokens that a decoder has written after the text
  double temperature = 0;               // of sampling a translation; 0: the most likely one
  Index top_k = 0, seed = 0;

  [[nodiscard]] std::string id() const;  // 16 digits made of all of it
};

struct KeptRun {
  std::string id;
  RunRequest request;
  Run run;
  std::vector<FirstLook> looks = {};  // the link to show first in each part; none for long texts
  Index mean_sentences = 0;           // of a run with heads replaced by their means
  std::vector<inspect::LayerExperts> experts = {};  // for mixtures of experts: the experts of each token

  [[nodiscard]] std::size_t bytes() const { return run.bytes() + 65536; }
};

// The text as model input; it consists of token ids if the model has no tokenizer. Throws Error.
[[nodiscard]] Prompt prompt_of(const Model& model, const RunRequest& request);

// Runs the model. Calls `left` between layers and throws Cancelled if it returns true. Throws Error.
[[nodiscard]] std::shared_ptr<const KeptRun> make_run(Context& ctx, const Model& model,
                                                      const RunRequest& request,
                                                      const std::function<bool()>& left);

void check_writes(const KeptRun& run);  // throws Error{usage} for models that do not continue texts

// The request for the same text with one more token, sampled from the run's prediction.
[[nodiscard]] RunRequest with_next_token(Context& ctx, const KeptRun& run,
                                         const models::SamplingOptions& options);

}  // namespace headlight::serve
