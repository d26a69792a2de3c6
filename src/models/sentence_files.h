// Pooling and normalisation settings in the folder of a sentence encoder (Sentence Transformers).
#pragma once

#include <cstdint>
#include <string>

#include "headlight/tensor.h"

namespace headlight::models {

enum class SentencePooling : std::uint8_t { mean, first, max, last };

struct SentenceFiles {
  std::string source = {};  // modules.json or 1_Pooling/config.json; empty: the folder has neither
  SentencePooling pooling = SentencePooling::mean;
  bool normalise = false;
  Index longest = 0;        // tokens of a text; 0: only the limit of the model
  std::string prefix = {};  // prepended to every text by default
};
// `path` is the model's folder or file. Throws Error{input} for unsupported modules, because they would be left out.
[[nodiscard]] SentenceFiles read_sentence_files(const std::string& path);

}  // namespace headlight::models
