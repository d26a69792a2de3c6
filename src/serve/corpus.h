// Search over the texts of --corpus: mean distance of a head's weights.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "headlight/run.h"

namespace headlight::serve {

struct CorpusRequest {
  std::string model;
  Head head;
  Range lines;  // a few, so that other requests are not delayed
};
inline constexpr Index kMostCorpusLines = 32;  // in one request
[[nodiscard]] CorpusRequest parse_corpus(std::string_view body);

// For each line the mean distance of the head's weights in tokens, over queries that see at least four keys, and the
// link that contributes most to it, without links to the first token. Lines that the model cannot read have none.
[[nodiscard]] std::string corpus_json(Context& ctx, const Model& model, const CorpusRequest& request,
                                      std::span<const std::string> lines, const std::function<bool()>& left);

}  // namespace headlight::serve
