// Words that point at others, and words that carry grammar rather than meaning: English and French.
#pragma once

#include <string_view>

namespace headlight::text {

// "it", "they", "elle": what they mean stands elsewhere in the text. Capital letters of ASCII count as small ones.
[[nodiscard]] bool is_pronoun(std::string_view word);
// Articles, conjunctions, prepositions, auxiliaries, pronouns, and what tokenizers cut off such as "n't".
[[nodiscard]] bool is_function_word(std::string_view word);

}  // namespace headlight::text
