// Records the attention to chosen sentences during training, so that one can see heads
// form. FOLDER/snapshots/step-N/I-PART.npy is [layer, head, query, key] for sentence I and each part of the model;
// FOLDER/snapshots/sentences.json lists the tokens of the rows and columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/tokenizer.h"
#include "models/transformer.h"
#include "train/prepare.h"

namespace headlight::train {

class Watcher {
 public:
  // A sentence; for a translation model, source and target separated by a tab. Sentences of more than
  // `longest` tokens are Error{input}.
  Watcher(const models::Transformer& model, const Tokenizer& tokenizer, const SpecialIds& special,
          Index longest, const std::vector<std::string>& sentences, std::string folder);

  // Replaces the files of an earlier run for the same step. Throws Error{file}.
  void write(Context& ctx, std::int64_t step) const;

 private:
  struct Sentence {
    models::Tokens source, input;
  };
  void write_sentences(const Tokenizer& tokenizer) const;

  const models::Transformer& model_;
  std::vector<Sentence> sentences_;
  std::string folder_;
};

}  // namespace headlight::train
