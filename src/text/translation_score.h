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
  std::vector<std::string> references;  // any number, with equal rights
};

// Runs of 1 to 4 words that translations share with their references (Papineni and others, 2002), words
// cut as NIST's mteval-v13a does it, on the whole corpus. Where no run of some length is shared, a half,
// a quarter … of one is counted. The reference that counts for lengths is the closest one, of two
// equally close the shorter.
struct Bleu {
  double score = 0;                          // 0 to 100
  std::array<std::int64_t, 4> shared = {};   // runs of 1, 2, 3 and 4 words
  std::array<std::int64_t, 4> written = {};  // all runs of the translations
  double brevity = 0;                        // the factor for being too short
  std::int64_t words = 0, reference_words = 0;
};
[[nodiscard]] Bleu bleu(std::span<const ScoredSentence> sentences);

// The words that BLEU compares.
[[nodiscard]] std::vector<std::string> words_13a(std::string_view line);

// Shared runs of 1 to 6 characters, spaces left out: the harmonic mean of precision and recall, recall
// counting `beta` times as much (Popović, 2015; beta 2 is chrF2). Of several references that with the
// best score of its sentence counts. 0 to 100.
[[nodiscard]] double chrf(std::span<const ScoredSentence> sentences, double beta = 2);

}  // namespace headlight::text
