// Streams the continuation of a text: one line of JSON for each token, sent when it is computed.
#pragma once

#include "serve/answer.h"
#include "serve/run.h"

namespace headlight::serve {

inline constexpr Index kMostWritten = 1024;  // tokens of one request

// Each line is {"id", "more", "source", "p", "row"}: id, tokens and text of the longer run, as run_json() writes them; the
// probability of its last token; and the attention of that token, base64 of float32 [layer, head, key], NaN where it
// cannot see a key. The last line is {"end": why}. options.most: tokens at most.
// Throws Error for models that do not generate text, Cancelled when the client has disconnected.
void write_on(Context& ctx, const KeptRun& kept, const models::SamplingOptions& options,
              const std::function<bool()>& left, const Send& send);

}  // namespace headlight::serve
