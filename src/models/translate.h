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
  Index most = 0;                           // tokens of a translation; 0: twice its source's and 16
  Index batch_beams = 128;                  // computed together, for all sentences of a batch
  Index first_number = 1;                   // of the first text, for messages
  const text::KnownWords* words = nullptr;  // translations without other words come first
  // Called after every batch with the number of finished texts.
  std::function<void(Index done)> on_progress = nullptr;
  std::function<void(BeamStep step)> on_step = nullptr;  // of a single text
};

struct Translation {
  std::string text;
  std::vector<std::int32_t> tokens = {};  // without the end token
  double score = 0;                       // log-probability / (tokens and the end)^length_penalty
};

// One translation for each text, in their order; a text of spaces alone becomes an empty one. Batches
// affect only the speed. Throws Error{input} for a text that the model cannot read.
[[nodiscard]] std::vector<Translation> translate(Context& ctx, Writer& writer, const Tokenizer& tokenizer,
                                                 std::span<const std::string> texts,
                                                 const TranslateOptions& options = {});

}  // namespace headlight::models
