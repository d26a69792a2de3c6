// Translation with an encoder-decoder: any number of texts, in batches of similar length.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headlight/tokenizer.h"
#include "models/generate.h"

namespace headlight::models {

struct TranslateOptions {
  Index beams = 4;
  double length_penalty = 1;
  Index most = 0;                           // tokens of a translation; 0: twice the source length plus 16
  Index batch_beams = 128;                  // beams computed together, for all sentences of a batch
  Index first_number = 1;                   // of the first text, for messages
  const text::KnownWords* words = nullptr;  // prefers translations without other words
  // Called after every batch with the number of finished texts.
  std::function<void(Index done)> on_progress = nullptr;
  std::function<void(BeamStep step)> on_step = nullptr;  // for a single text only
};

struct Translation {
  std::string text;
  std::vector<std::int32_t> tokens = {};  // without the end token
  double score = 0;                       // log-probability / (length including the end token)^length_penalty
};

// One translation for each text, in the same order; a text of only spaces gives an empty one. Batches
// affect only the speed. Throws Error{input} for a text that the model cannot read.
[[nodiscard]] std::vector<Translation> translate(Context& ctx, Writer& writer, const Tokenizer& tokenizer,
                                                 std::span<const std::string> texts,
                                                 const TranslateOptions& options = {});

}  // namespace headlight::models
