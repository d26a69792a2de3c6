// Sentences with a pronoun to resolve: measures whether a model translates the pronoun correctly, and which of its heads
// attend from the pronoun to its antecedent.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/loaded_model.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

struct PronounSentence {
  std::string source, translation;
  Index pronoun = 0, antecedent = 0, other = 0;  // words of the source, counted as in text/spaced_words.h
  Index twin = 0;  // sentences with the same number differ only in the antecedent
};

// Reads lines of tools/make-pronouns: source, translation, the three word numbers, the French pronoun, a note on what is new
// in the sentence, and the twin's number, separated by tabs; "#" begins a comment. Throws Error{input} that names the line.
[[nodiscard]] std::vector<PronounSentence> parse_pronouns(std::string_view text, const std::string& name);
[[nodiscard]] std::vector<PronounSentence> read_pronouns(const std::string& path);

// How often one head of the encoder attends from the pronoun to its antecedent.
struct AntecedentScore {
  HeadPlace head;
  Index right = 0, sentences = 0;    // right: more weight on the antecedent than on the other noun
  double antecedent = 0, other = 0;  // mean weights
  Index twins_right = 0, twins = 0;  // pairs of twins in which the head follows the antecedent in both
  [[nodiscard]] double share() const {
    return sentences > 0 ? static_cast<double>(right) / static_cast<double>(sentences) : 0;
  }
};
using SentencesDone = std::function<void(std::size_t sentences)>;
// Scores every head of the encoder, by layer, then by head. Throws Error{usage} for models without an encoder.
[[nodiscard]] std::vector<AntecedentScore> score_antecedents(Context& ctx, const LoadedModel& loaded,
                                                             std::span<const PronounSentence> sentences,
                                                             const SentencesDone& done = nullptr);
// The head with the most sentences right; of equals the one with the largest weight on the antecedents.
[[nodiscard]] const AntecedentScore& best_of(std::span<const AntecedentScore> scores);

// The French pronouns il, elle, ils, elles of a text, in order.
[[nodiscard]] std::vector<std::string> french_pronouns(std::string_view text);

struct PronounTranslations {
  std::vector<std::string> texts;
  std::vector<bool> right;  // the pronouns are those of the reference
  [[nodiscard]] Index count_right() const;
};
// Translates all sentences, with an intervention if not null.
[[nodiscard]] PronounTranslations translate_pronouns(Context& ctx, const LoadedModel& loaded,
                                                     std::span<const PronounSentence> sentences,
                                                     Intervention* intervention = nullptr,
                                                     const SentencesDone& done = nullptr);

}  // namespace headlight::inspect
