// Scores of translations against references: BLEU and chrF.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

struct ScoredSentence {
  std::string translation;
  std::vector<std::string> references;  // any number, equivalent
};

// BLEU: n-grams of 1 to 4 words that translations share with their references (Papineni and others, 2002), words
// split like NIST's mteval-v13a, over the whole corpus. If no n-gram of some length matches, a half,
// a quarter … of one is counted. The reference that counts for lengths is the closest one; ties: the
// shorter.
struct Bleu {
  double score = 0;                          // 0 to 100
  std::array<std::int64_t, 4> shared = {};   // n-grams of 1, 2, 3 and 4 words
  std::array<std::int64_t, 4> written = {};  // all n-grams of the translations
  double brevity = 0;                        // brevity penalty
  std::int64_t words = 0, reference_words = 0;
};
[[nodiscard]] Bleu bleu(std::span<const ScoredSentence> sentences);

// The words that BLEU compares.
[[nodiscard]] std::vector<std::string> words_13a(std::string_view line);

// chrF: n-grams of 1 to 6 characters, without spaces: the harmonic mean of precision and recall, with recall
// weighted `beta` times as much (Popović, 2015; beta 2 is chrF2). Of several references, the one with the
// best score for its sentence counts. 0 to 100.
[[nodiscard]] double chrf(std::span<const ScoredSentence> sentences, double beta = 2);

}  // namespace headlight::text
