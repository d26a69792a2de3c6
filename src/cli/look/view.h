// The first screen: a translation and where its words looked, one word's row, and one number by hand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/page.h"
#include "inspect/head_steps.h"
#include "inspect/word_alignment.h"

namespace headlight::cli {

// A map by words: how strongly each row's word looks at each column's.
struct WordMap {
  inspect::HeadPlace head;
  std::vector<std::string> rows, columns;
  inspect::AttentionMap map;
};

// A word and what it looks at, by one head of the encoder.
struct WordRow {
  std::string word, key;  // who looks, and the word that the head was chosen for
  inspect::HeadPlace head;
  Index heads = 0;  // searched
  std::vector<std::string> words;
  std::vector<double> weights;
  double uniform = 0;  // what every token would get from a head that does not choose
  [[nodiscard]] double weight_of(const std::string& label) const;
};

struct LookView {
  std::string model, about;
  double parameters = 0;
  std::string text, translation;  // of the first part
  WordMap written;
  std::optional<inspect::AlignmentScore> alignment;  // of that head, on sentences it was not chosen on
  std::string street, street_translation;            // of the second part; empty: the same text
  WordRow row;
  std::string control;  // "too wide"
  std::vector<std::pair<std::string, double>> control_weights;
  inspect::HeadSteps steps;
};

[[nodiscard]] std::string look_text(const LookView& view, const PageStyle& style);

}  // namespace headlight::cli
