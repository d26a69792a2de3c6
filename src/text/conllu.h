// Dependency trees in the CoNLL-U format of the Universal Dependencies: a word in a line, ten columns, an empty line
// between sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor.h"

namespace headlight::text {

struct TreeWord {
  std::string form;
  std::string part_of_speech;      // "NOUN"
  std::string relation;            // without its subtype: "nmod" of "nmod:poss"
  Index head = -1;                 // the word it depends on, counted from 0; -1: the root
  std::size_t begin = 0, end = 0;  // bytes of the sentence's text; parts of "du" share them
};

struct Tree {
  std::string id, parallel_id;  // "sent_id" and "parallel_id"; empty where the file has none
  std::string text;
  std::vector<TreeWord> words;
};

inline constexpr Index kLongestTree = 4096;  // words

// Throws Error{input} that names the line: columns, numbers, heads that are missing or form a cycle, words
// that are not in the text. Skips empty nodes ("8.1").
[[nodiscard]] std::vector<Tree> parse_conllu(std::string_view text, const std::string& name);

}  // namespace headlight::text
