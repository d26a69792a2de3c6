// Two runs laid side by side: which rows and columns belong together, and which head shows it best.
#pragma once

#include <string>
#include <vector>

#include "cli/show/settings.h"
#include "inspect/alignment.h"
#include "inspect/subject.h"

namespace headlight::cli {

struct CompareSettings : ShowSettings {  // what A is given, and how everything is to look
  CompareSettings() { second.model.clear(); }
  ModelInput second;                             // what B is given; no model: A's
  std::vector<inspect::HeadPlace> second_heads;  // B's; none: as A's
};

// One of the two runs: its model, what it read, all heads that may be shown.
struct ComparedRun {
  const inspect::Subject& subject;
  inspect::Question question;
  Sides sides;
  std::vector<inspect::AttentionMap> maps;
};

[[nodiscard]] ComparedRun run_model(Context& ctx, const inspect::Subject& subject, const ModelInput& input,
                                    Part part, const std::vector<inspect::HeadPlace>& heads);

// Rows and columns of both, with the maps of one head.
struct Comparison {
  std::vector<inspect::WordPair> rows, columns;
  std::vector<std::string> row_labels, column_labels;
  inspect::AttentionMap a, b;
  bool by_words = false;           // tokens were merged into words
  std::vector<std::string> notes;  // what was chosen for the reader
};

// Of the heads that both have, or of the two that were named: the one where they differ most. With a query, its row
// alone. Throws Error{usage} when there is nothing to compare.
[[nodiscard]] Comparison most_different(const ComparedRun& a, const ComparedRun& b,
                                        const CompareSettings& settings);

}  // namespace headlight::cli
