#include "cli/explain/predict.h"

#include <algorithm>

#include "cli/numbers.h"
#include "cli/standard_input.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongestAnswer = 1000;

// Words that the query can see.
Index words_seen(const Explanation& e) {
  return e.recipe.causal ? e.query + 1 : static_cast<Index>(e.sentence.words.size());
}

std::string word(const Explanation& e, Index i) {
  return escaped(e.sentence.words[static_cast<std::size_t>(i)], 60);
}

double weight(const Explanation& e, Index key) { return e.trace.heads.front().weights.at(e.query, key); }

Index largest(const Explanation& e) {
  Index best = 0;
  for (Index j = 1; j < words_seen(e); ++j)
    if (weight(e, j) > weight(e, best)) best = j;
  return best;
}

// The index of the word that the answer names, or -1.
Index meant(const Explanation& e, const std::string& answer) {
  if (const auto number = parse_integer(answer); number && *number >= 1 && *number <= words_seen(e))
    return *number - 1;
  const auto& words = e.sentence.words;
  const auto found = std::find(words.begin(), words.begin() + words_seen(e), answer);
  return found == words.begin() + words_seen(e) ? -1 : found - words.begin();
}

}  // namespace

std::string ask(const Explanation& e) {
  std::string list;
  for (Index j = 0; j < words_seen(e); ++j) list += concat("  ", j + 1, " ", word(e, j));
  print(concat("\nGuess: which word will \"", word(e, e.query), "\" give the largest weight",
               e.trace.heads.size() > 1 ? " in head 1" : "", "?\n  ", list, "\n> "));
  std::vector<std::string> lines;
  std::string answer = StandardLines().read(lines) && !lines.empty() ? lines.front() : "";
  if (answer.size() > kLongestAnswer) answer.resize(kLongestAnswer);
  answer.erase(0, answer.find_first_not_of(" \t\r"));
  const std::size_t last = answer.find_last_not_of(" \t\r");
  answer.resize(last == std::string::npos ? 0 : last + 1);
  return answer;
}

std::string verdict(const Explanation& e, const std::string& answer) {
  const Index best = largest(e), said = meant(e, answer);
  const std::string truth =
      concat("\"", word(e, best), "\", with a weight of ", number_text(weight(e, best)));
  const std::string self =
      best == e.query
          ? " A word often matches itself best, because its query and key come from the same vector."
          : "";
  if (answer.empty()) return concat("\nNo guess. It is ", truth, ".", self, "\n");
  if (said < 0)
    return concat("\n\"", escaped(answer, 60), "\" is none of these. It is ", truth, ".", self, "\n");
  if (said == best) return concat("\nRight: ", truth, ".", self, "\n");
  return concat("\nNot this time: \"", word(e, said), "\" gets ", number_text(weight(e, said)), ". It is ",
                truth, ".", self, "\n");
}

}  // namespace headlight::cli
