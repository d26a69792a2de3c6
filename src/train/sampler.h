// Samples during training: prompts continued or translated, and evaluation pairs translated and scored.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/tokenizer.h"
#include "models/transformer.h"
#include "train/trainer.h"

namespace headlight::train {

struct SamplerConfig {
  std::vector<std::string> prompts = {};
  Index tokens = 60;                                             // of a continuation
  std::vector<std::pair<std::string, std::string>> scored = {};  // source and reference
};

class Sampler {
 public:
  // Throws Error{usage} for a model that does not generate text, Error{input} for a prompt that it cannot read.
  Sampler(const models::Transformer& model, const Tokenizer& tokenizer, SamplerConfig config);

  [[nodiscard]] Written write(Context& ctx) const;

 private:
  [[nodiscard]] std::vector<std::string> translated(Context& ctx, const std::vector<std::string>& texts,
                                                    Index beams) const;
  [[nodiscard]] std::vector<std::string> continued(Context& ctx) const;

  const models::Transformer& model_;
  const Tokenizer& tokenizer_;
  SamplerConfig config_;
  models::Tokens prompts_;  // of a decoder
};

}  // namespace headlight::train
