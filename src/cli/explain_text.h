// The worked example as a page for the terminal, and as JSON for scripts.
#pragma once

#include <string>

#include "cli/page.h"
#include "cli/worked_example.h"

namespace headlight::cli {

struct Explanation {
  const Sentence& sentence;
  const Recipe& recipe;
  const Trace& trace;
  Index query = 0;  // the word that is followed
};

[[nodiscard]] std::string explain_text(const Explanation& e, const PageStyle& style);
[[nodiscard]] std::string explain_json(const Explanation& e);

}  // namespace headlight::cli
