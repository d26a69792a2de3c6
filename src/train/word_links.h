// Links between words, in tokens.
#pragma once

#include <span>
#include <string_view>

#include "headlight/tokenizer.h"
#include "models/trainable.h"

namespace headlight::train {

// Links the first token of one word to all tokens of another, in a sentence with these tokens. Words are
// those of text/spaced_words.h and must exist.
[[nodiscard]] models::Link token_link(std::string_view text, std::span<const TokenSpan> tokens,
                                      Index query_word, Index key_word);

}  // namespace headlight::train
