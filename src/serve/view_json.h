// A view as JSON: the same for the command line and the page.
#pragma once

#include <string>

#include "io/json_writer.h"
#include "session/view.h"

namespace headlight::serve {

// Tokens in the form that all JSON files use.
void write_tokens(io::JsonWriter& w, const TokenizedText& text, io::JsonLayout layout = io::JsonLayout::line);
// Rows of numbers, null where a query cannot see a key.
void write_weights(io::JsonWriter& w, const draw::WeightMap& map);
[[nodiscard]] std::string view_json(const session::View& view, const Run& run);

}  // namespace headlight::serve
