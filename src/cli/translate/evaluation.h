// How good a model's translations are: BLEU and chrF2 on a file of sentences with their translations.
#pragma once

#include <string>
#include <vector>

#include "text/translation_score.h"

namespace headlight::cli {

struct TestSet {
  std::vector<std::string> sources;                  // each once, in the order of the file
  std::vector<std::vector<std::string>> references;  // all that the file has for it
};
// Lines of source, tab, translation. Lines with the same source are one sentence with several references.
// `limit` > 0: only the first sentences.
[[nodiscard]] TestSet read_test_set(const std::string& path, std::size_t limit);

struct Evaluation {
  text::Bleu bleu;
  double chrf = 0;
  std::size_t sentences = 0, references = 0;
};
// translations[i] is that of sources[i].
[[nodiscard]] Evaluation evaluate(const TestSet& set, const std::vector<std::string>& translations);

// {"bleu": …, "chrf": …, "sentences": …}
[[nodiscard]] std::string evaluation_json(const Evaluation& evaluation);
[[nodiscard]] std::string evaluation_text(const Evaluation& evaluation);

}  // namespace headlight::cli
