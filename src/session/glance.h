// A translation at a glance: where its words looked, one word's row, and one number by hand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/look.h"
#include "inspect/attention_map.h"
#include "inspect/word_alignment.h"

namespace headlight::session {

// The sentence of the tutorials.
inline constexpr std::string_view kStreetSentence =
    "The animal didn't cross the street because it was too tired.";

// A map by words: how strongly each row's word looks at each column's.
struct WordMap {
  HeadPlace head;
  std::vector<std::string> rows, columns;
  inspect::AttentionMap map;
};

// A word and what it looks at, by one head of the encoder.
struct WordRow {
  std::string word, key;  // who looks, and the word that the head was chosen for
  HeadPlace head;
  Index heads = 0;  // searched
  std::vector<std::string> words;
  std::vector<double> weights;
  double uniform = 0;  // what every token would get from a head that does not choose
  [[nodiscard]] double weight_of(const std::string& label) const;
};

struct Glance {
  std::string model, about;
  double parameters = 0;
  std::string text, translation;  // of the first part
  WordMap written;
  std::optional<inspect::AlignmentScore> alignment;  // of that head, on sentences it was not chosen on
  std::string street, street_translation;            // of the second part; empty: the same text
  WordRow row;
  std::string control;  // "too wide"
  std::vector<std::pair<std::string, double>> control_weights;
  HeadSteps steps;
};

// Of a text, or without one of two sentences of the tutorials. Throws Error{usage} for a model that does not translate.
[[nodiscard]] Glance glance_at(Context& ctx, const Model& model, const std::string& text);

}  // namespace headlight::session
