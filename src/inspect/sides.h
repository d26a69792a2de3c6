// Who looks and at what in one part of a model, and where a text's bytes are among its tokens.
#pragma once

#include <string_view>

#include "headlight/trace.h"
#include "inspect/model_run.h"

namespace headlight::inspect {

struct Sides {
  EncodedText queries, keys;
};
[[nodiscard]] Sides sides_of(const LoadedModel& loaded, const ModelInput& input, Part part);

// The tokens that have a part of the bytes [begin, end) of the text; an empty range when there are none.
[[nodiscard]] Range tokens_at(const EncodedText& encoded, std::size_t begin, std::size_t end);

}  // namespace headlight::inspect
