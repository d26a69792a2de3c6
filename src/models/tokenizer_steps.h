// The sections of a tokenizer.json around the model.
#pragma once

#include <vector>

#include "io/json.h"
#include "text/parts.h"

namespace headlight::models {

// Each reads a section, or null, and flattens sequences. Throws Error{input} for unknown steps.
[[nodiscard]] std::vector<text::NormalizerStep> read_normalizer(const io::Json* section);
[[nodiscard]] std::vector<text::PreTokenizerStep> read_pre_tokenizer(const io::Json* section);
[[nodiscard]] std::vector<text::PostProcessorStep> read_post_processor(const io::Json* section);
[[nodiscard]] std::vector<text::DecoderStep> read_decoder(const io::Json* section);

}  // namespace headlight::models
