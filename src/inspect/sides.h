// The tokens that are queries and keys in each part of a model, and the tokens of a range of bytes.
#pragma once

#include <string_view>

#include "headlight/trace.h"
#include "inspect/model_run.h"

namespace headlight::inspect {

struct Sides {
  EncodedText queries, keys;
};
[[nodiscard]] Sides sides_of(const LoadedModel& loaded, const ModelInput& input, Part part);

// The tokens that overlap the bytes [begin, end) of the text; an empty range if there are none.
[[nodiscard]] Range tokens_at(const EncodedText& encoded, std::size_t begin, std::size_t end);

}  // namespace headlight::inspect
