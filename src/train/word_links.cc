#include "train/word_links.h"

#include "text/spaced_words.h"

namespace headlight::train {

models::Link token_link(std::string_view text, std::span<const TokenSpan> tokens, Index query_word,
                        Index key_word) {
  const auto [begin, end] = text::tokens_in(tokens, text::spaced_word(text, key_word));
  return {text::tokens_in(tokens, text::spaced_word(text, query_word)).first, begin, end};
}

}  // namespace headlight::train
