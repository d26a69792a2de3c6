// Beam search that prefers words which exist: those of a list, and those of the source, such as names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlight/tensor.h"
#include "headlight/tokenizer.h"
#include "text/known_words.h"

namespace headlight::models {

// A model that writes pieces of words can put together what no one writes ("vertues"). This counts such words while they
// are written, as soon as their letters can no longer become a known one. One object serves one thread.
class WordCheck {
 public:
  // What each unknown word costs a translation, in nats: more than any two translations of a sentence usually differ by.
  static constexpr double kPenalty = 10;

  // The end of a translation. A word counts once.
  struct State {
    text::OpenWord open = {};
    bool counted = false;
  };

  WordCheck(const text::KnownWords& words, const Tokenizer& tokenizer)
      : words_(words), tokenizer_(tokenizer) {}
  // Sentences are numbered from 0 in the order they are added, again after forget_sources().
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
  std::vector<std::optional<std::string>> texts_;  // of each token that was read, by id
  std::vector<std::string> ended_;                 // by the token that is read
};

}  // namespace headlight::models
