// Links between words, as tokens see them.
#pragma once

#include <span>
#include <string_view>

#include "headlight/tokenizer.h"
#include "models/trainable.h"

namespace headlight::train {

// How many words a sentence has: what stands between its spaces.
[[nodiscard]] Index count_words(std::string_view text);

// From the first token of one word to all tokens of another, in a sentence that became these tokens. Marks at a word's
// end do not belong to it. Words are counted from 0 and must be there.
[[nodiscard]] models::Link token_link(std::string_view text, std::span<const TokenSpan> tokens,
                                      Index query_word, Index key_word);

}  // namespace headlight::train
