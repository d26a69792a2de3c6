// Asks which word gets the largest weight before the scores are shown.
#pragma once

#include <string>

#include "cli/explain/text.h"

namespace headlight::cli {

// Asks on standard output and reads one line of standard input; empty when there is none.
[[nodiscard]] std::string ask(const Explanation& e);
// The reply to an answer, which is a word or its number in the list.
[[nodiscard]] std::string verdict(const Explanation& e, const std::string& answer);

}  // namespace headlight::cli
