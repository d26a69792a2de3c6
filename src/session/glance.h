// The first screen of a translator: the attention of a translation, one word's row, and one weight computed by hand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/look.h"
#include "inspect/attention_map.h"
#include "inspect/pronouns.h"
#include "inspect/word_alignment.h"

namespace headlight::session {

// The sentence of the tutorials, and its twin, in which "it" refers to the other noun.
inline constexpr std::string_view kTiredSentence =
    "The animal didn't cross the street because it was too tired.";
inline constexpr std::string_view kWideSentence =
    "The animal didn't cross the street because it was too wide.";

// A map by words: the weight of each row's word on each column's word.
struct WordMap {
  HeadPlace head;
  std::vector<std::string> rows, columns;
  inspect::AttentionMap map;
};

// A word and the words it attends to, by one head of the encoder.
struct WordRow {
  std::string word, key;  // the query word, and the word for which the head was chosen
  HeadPlace head;
  Index heads = 0;  // searched
  std::vector<std::string> words;
  std::vector<double> weights;
  double uniform = 0;  // the weight of each token under uniform attention
};

// A sentence with an "it" to resolve, and the weights of one head of the encoder.
struct Meaning {
  std::string text, translation, without;  // without: translated with the head zeroed
  double first = 0, second = 0;            // the weights of "it" on the two nouns
};

// What "it" refers to in two sentences that differ in one adjective.
struct PronounView {
  std::string first = "animal", second = "street";  // the nouns
  HeadPlace head;
  bool taught = false;                            // training guided this head
  std::optional<inspect::AntecedentScore> score;  // of that head, on sentences it was not chosen on
  std::vector<Meaning> meanings;
};

struct Glance {
  std::string model, about;
  double parameters = 0;
  std::string text, translation;  // of the first part
  WordMap written;
  std::optional<inspect::AlignmentScore> alignment;  // of that head, on sentences it was not chosen on
  std::optional<PronounView> pronoun;                // of the tutorials' sentences
  std::optional<WordRow> row;                        // of the caller's sentence
  std::string query, key;                            // the word whose weight is computed by hand
  HeadSteps steps;
};

// Uses the text, or one of the tutorials' sentences. Throws Error{usage} for a model that does not translate.
[[nodiscard]] Glance glance_at(Context& ctx, const Model& model, const std::string& text);

}  // namespace headlight::session
