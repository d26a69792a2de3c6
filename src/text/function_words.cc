#include "text/function_words.h"

#include <algorithm>
#include <span>

#include "text/words.h"

namespace headlight::text {
namespace {

constexpr std::string_view kPronouns[] = {"it",  "they", "he",   "she", "them",  "him",
                                          "her", "il",   "elle", "ils", "elles", "lui"};

constexpr std::string_view kOthers[] = {
    // English
    "a", "an", "the", "this", "that", "these", "those", "and", "or", "but", "nor", "so", "because",
    "although", "though", "while", "if", "when", "since", "until", "after", "before", "as", "than", "then",
    "of", "to", "in", "on", "at", "by", "for", "with", "from", "into", "over", "under", "about", "up", "down",
    "out", "off", "not", "no", "n't", "'t", "'s", "'re", "'ve", "'ll", "'d", "'m", "is", "was", "were", "be",
    "been", "being", "am", "are", "do", "does", "did", "didn", "didn't", "don", "don't", "doesn", "doesn't",
    "have", "has", "had", "will", "would", "can", "could", "shall", "should", "may", "might", "must", "too",
    "very", "also", "just", "i", "you", "we", "me", "us", "my", "your", "our", "his", "its", "their", "who",
    "which", "what", "there",
    // French
    "le", "la", "les", "l", "un", "une", "des", "du", "de", "d", "et", "ou", "mais", "car", "parce", "que",
    "qu", "qui", "ne", "n", "pas", "est", "était", "sont", "été", "a", "ont", "avait", "à", "au", "aux", "en",
    "dans", "sur", "pour", "par", "avec", "ce", "cette", "ces", "se", "s", "trop", "très", "je", "tu", "nous",
    "vous", "son", "sa", "ses", "leur", "y"};

bool is_one_of(std::string_view word, std::span<const std::string_view> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](std::string_view other) { return are_equal(word, other, Case::any); });
}

}  // namespace

bool is_pronoun(std::string_view word) { return is_one_of(word, kPronouns); }
bool is_function_word(std::string_view word) { return is_pronoun(word) || is_one_of(word, kOthers); }

}  // namespace headlight::text
