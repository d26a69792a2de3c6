// The worked example as a page for the terminal, and as JSON for scripts.
#pragma once

#include <string>

#include "cli/page.h"
#include "lab/worked_example.h"

namespace headlight::cli {

using lab::HeadTrace;
using lab::Parameters;
using lab::Recipe;
using lab::Sentence;
using lab::Trace;

struct Explanation {
  const Sentence& sentence;
  const Recipe& recipe;
  const Trace& trace;
  Index query = 0;  // the word that is followed
};

// One page in two parts: up to the vectors, and from the scores on.
struct ExplainPages {
  std::string before_scores, rest;
};
[[nodiscard]] ExplainPages explain_pages(const Explanation& e, const PageStyle& style);
[[nodiscard]] std::string explain_json(const Explanation& e);

}  // namespace headlight::cli
