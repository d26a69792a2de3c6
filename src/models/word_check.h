// Beam search that prefers existing words: those of a list, and those of the source, such as names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlight/tensor.h"
#include "headlight/tokenizer.h"
#include "text/known_words.h"

namespace headlight::models {

// A model that generates pieces of words can combine them to words that do not exist ("vertues"). This counts such words
// during generation, as soon as their letters cannot be continued to a known word. One object serves one thread.
class WordCheck {
 public:
  // The penalty of each unknown word, in nats: more than the usual difference between two translations of a sentence.
  static constexpr double kPenalty = 10;

  // Counts the words at the end of a translation, each once.
  struct State {
    text::OpenWord open = {};
    bool counted = false;
  };

  WordCheck(const text::KnownWords& words, const Tokenizer& tokenizer)
      : words_(words), tokenizer_(tokenizer) {}
  // Sentences are numbered from 0 in the order they are added; forget_sources() starts again at 0.
  void forget_sources() { sources_.clear(); }
  void add_source(std::span<const TokenId> ids);

  // Reads one more token of a translation of this sentence; returns the number of new unknown words.
  [[nodiscard]] Index read(State& state, std::size_t sentence, TokenId token);
  // The same for the end of the text.
  [[nodiscard]] Index finish(State& state, std::size_t sentence);

 private:
  [[nodiscard]] const std::string& text_of(TokenId token);
  [[nodiscard]] Index count_ended(State& state, std::size_t sentence);
  [[nodiscard]] bool is_known(const std::string& word, std::size_t sentence) const;
  [[nodiscard]] bool can_become_known(const std::string& letters, std::size_t sentence) const;

  const text::KnownWords& words_;
  const Tokenizer& tokenizer_;
  std::vector<std::vector<std::string>> sources_;  // words of each sentence, sorted
  std::vector<std::optional<std::string>> texts_;  // of each token read so far, by id
  std::vector<std::string> ended_;                 // by the next token
};

}  // namespace headlight::models
