// Compares heads of cross-attention with words aligned by hand.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/loaded_model.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

struct AlignedWord {
  std::string written;              // a word of the translation
  std::vector<std::string> source;  // the source words it may translate
};
struct AlignedSentence {
  std::string source, written;
  std::vector<AlignedWord> words;
};

// Lines "source TAB translation TAB word=source,source word=source"; "#" begins a comment. Throws Error{input} that
// names the line.
[[nodiscard]] std::vector<AlignedSentence> parse_alignments(std::string_view text, const std::string& name);
[[nodiscard]] std::vector<AlignedSentence> read_alignments(const std::string& path);

struct AlignmentScore {
  HeadPlace head;
  Index right = 0, words = 0;
  [[nodiscard]] double share() const {
    return words > 0 ? static_cast<double>(right) / static_cast<double>(words) : 0;
  }
};
// For every head, the number of words whose largest weight is on a word they translate, by layer, then by head. The model
// reads the given translations.
[[nodiscard]] std::vector<AlignmentScore> score_alignment(Context& ctx, const LoadedModel& loaded,
                                                          std::span<const AlignedSentence> sentences);
// The head with the most words right; of equals the first.
[[nodiscard]] const AlignmentScore& best_of(std::span<const AlignmentScore> scores);

}  // namespace headlight::inspect
