#include "models/word_check.h"

#include <algorithm>

#include "text/unicode.h"

namespace headlight::models {

void WordCheck::add_source(std::span<const TokenId> ids) {
  text::OpenWord open;
  std::vector<std::string> words;
  text::read_words(open, text::to_well_formed(tokenizer_.decode(ids) + "\n"), words);
  std::sort(words.begin(), words.end());
  sources_.push_back(std::move(words));
}

// The text that a token adds after another one; a first token may lose its space. A part of a character adds no text that
// could be checked, so it ends the word.
const std::string& WordCheck::text_of(TokenId token) {
  const auto id = static_cast<std::size_t>(token);
  if (texts_.size() <= id) texts_.resize(id + 1);
  if (!texts_[id]) {
    const TokenId twice[] = {token, token};
    const std::string both = tokenizer_.decode(twice), one = tokenizer_.decode(std::span(twice, 1));
    const bool whole = both.size() > one.size() && text::is_well_formed(both) &&
                       both.find("\xEF\xBF\xBD") == std::string::npos;
    texts_[id] = whole ? both.substr(one.size()) : "\n";
  }
  return *texts_[id];
}

bool WordCheck::is_known(const std::string& word, std::size_t sentence) const {
  return words_.contains(word) ||
         std::binary_search(sources_[sentence].begin(), sources_[sentence].end(), word);
}

bool WordCheck::can_become_known(const std::string& letters, std::size_t sentence) const {
  if (words_.begins(letters)) return true;
  const std::vector<std::string>& source = sources_[sentence];
  const auto next = std::lower_bound(source.begin(), source.end(), letters);
  return next != source.end() && next->compare(0, letters.size(), letters) == 0;
}

Index WordCheck::count_ended(State& state, std::size_t sentence) {
  Index unknown = 0;
  for (const std::string& word : ended_) {
    if (!state.counted && !is_known(word, sentence)) ++unknown;
    state.counted = false;
  }
  ended_.clear();
  return unknown;
}

Index WordCheck::read(State& state, std::size_t sentence, TokenId token) {
  const std::string& text = text_of(token);
  text::read_words(state.open, text, ended_);
  Index unknown = count_ended(state, sentence);
  const text::OpenWord& open = state.open;
  if (open.letters.empty() || open.has_digit) {
    state.counted = false;
  } else if (!state.counted && !can_become_known(open.letters, sentence)) {
    state.counted = true;
    ++unknown;
  }
  return unknown;
}

Index WordCheck::finish(State& state, std::size_t sentence) {
  text::read_words(state.open, "\n", ended_);
  return count_ended(state, sentence);
}

}  // namespace headlight::models
