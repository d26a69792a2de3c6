// Pronouns and function words of English and French.
#pragma once

#include <string_view>

namespace headlight::text {

// Pronouns such as "it", "they", "elle". ASCII letters are compared without case.
[[nodiscard]] bool is_pronoun(std::string_view word);
// Articles, conjunctions, prepositions, auxiliaries, pronouns, and parts that tokenizers split off, such as "n't".
[[nodiscard]] bool is_function_word(std::string_view word);

}  // namespace headlight::text
