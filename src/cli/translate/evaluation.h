// Reads sentences with reference translations from a file, and scores a model's translations.
#pragma once

#include <string>
#include <vector>

#include "headlight/write.h"

namespace headlight::cli {

// Lines of source, tab, translation. Lines with the same source are one sentence with several references.
// `limit` > 0: only the first sentences.
[[nodiscard]] TestSet read_test_set(const std::string& path, std::size_t limit);

// A line that reports the cut sources; empty if there are none.
[[nodiscard]] std::string cut_note(Index cut, const TestSet& set, const Model& model);

// {"bleu": …, "chrf": …, "sentences": …, "cut_sources": …}
[[nodiscard]] std::string evaluation_json(const TranslationScore& score, Index cut);
[[nodiscard]] std::string evaluation_text(const TranslationScore& score);

}  // namespace headlight::cli
