#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "text/translation_score.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::size_t kLongest = 4;

using Counts = std::unordered_map<std::string, std::int64_t>;

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

// ASCII punctuation and symbols that are always separate words: all but ' , - .
bool is_symbol(char c) {
  const bool other = c == '\'' || c == ',' || c == '-' || c == '.';
  return !other &&
         ((c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c <= '~'));
}

// Separates two neighbours that `fits` accepts, with a space `before` and `after` them if requested.
// Pairs do not overlap: characters of one pair are not part of the next. All searched characters are ASCII, so
// that bytes can be compared.
struct Spaces {
  bool first = false, middle = true, last = false;
};
template <class Fits>
std::string pairs_apart(const std::string& line, const Fits& fits, Spaces spaces) {
  std::string out;
  out.reserve(line.size() + line.size() / 4);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i + 1 == line.size() || !fits(line[i], line[i + 1])) {
      out += line[i];
      continue;
    }
    if (spaces.first) out += ' ';
    out += line[i];
    if (spaces.middle) out += ' ';
    out += line[++i];
    if (spaces.last) out += ' ';
  }
  return out;
}

std::vector<std::string> split_at_spaces(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t at = 0; at < line.size();) {
    const Character c = character_at(line, at);
    if (!is_one_of(c.code, kSpace)) {
      word += line.substr(at, c.length);
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
    at += c.length;
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// Words contain no spaces, so an n-gram is its words joined by spaces.
Counts runs_of(const std::vector<std::string>& words, std::size_t length) {
  Counts counts;
  for (std::size_t begin = 0; begin + length <= words.size(); ++begin) {
    std::string run = words[begin];
    for (std::size_t i = 1; i < length; ++i) (run += ' ') += words[begin + i];
    ++counts[run];
  }
  return counts;
}

void add(Bleu& sum, const ScoredSentence& sentence) {
  const std::vector<std::string> words = words_13a(sentence.translation);
  std::vector<std::vector<std::string>> references;
  for (const std::string& text : sentence.references) references.push_back(words_13a(text));
  const auto size = static_cast<std::int64_t>(words.size());
  std::int64_t closest = -1;
  for (const auto& reference : references) {
    const auto length = static_cast<std::int64_t>(reference.size());
    const std::int64_t off = std::abs(length - size), best = std::abs(closest - size);
    if (closest < 0 || off < best || (off == best && length < closest)) closest = length;
  }
  sum.words += size;
  sum.reference_words += std::max<std::int64_t>(closest, 0);
  for (std::size_t n = 1; n <= kLongest; ++n) {
    Counts most;  // an n-gram counts at most as often as in the reference that has it most often
    for (const auto& reference : references)
      for (const auto& [run, count] : runs_of(reference, n)) most[run] = std::max(most[run], count);
    for (const auto& [run, count] : runs_of(words, n)) {
      sum.written[n - 1] += count;
      const auto found = most.find(run);
      if (found != most.end()) sum.shared[n - 1] += std::min(count, found->second);
    }
  }
}

}  // namespace

std::vector<std::string> words_13a(std::string_view text) {
  std::string line = to_well_formed(text);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string apart = " ";
  for (const char c : line) {
    if (is_symbol(c)) ((apart += ' ') += c) += ' ';
    else apart += c;
  }
  apart += ' ';
  // Stops and commas inside numbers stay there; a dash after a digit does not.
  apart = pairs_apart(apart, [](char a, char b) { return !is_digit(a) && is_stop(b); }, {.last = true});
  apart = pairs_apart(apart, [](char a, char b) { return is_stop(a) && !is_digit(b); }, {.first = true});
  apart = pairs_apart(apart, [](char a, char b) { return is_digit(a) && b == '-'; }, {.last = true});
  return split_at_spaces(apart);
}

Bleu bleu(std::span<const ScoredSentence> sentences) {
  Bleu result;
  for (const ScoredSentence& sentence : sentences) add(result, sentence);
  if (result.words >= result.reference_words) result.brevity = 1;
  else if (result.words > 0)
    result.brevity =
        std::exp(1 - static_cast<double>(result.reference_words) / static_cast<double>(result.words));
  if (result.shared[0] == 0) return result;
  double logarithm = 0, part = 1;
  for (std::size_t n = 0; n < kLongest; ++n) {
    if (result.written[n] == 0) return result;
    // An n-gram length without any match counts half as much as the one before.
    double shared = static_cast<double>(result.shared[n]);
    if (result.shared[n] == 0) shared = part /= 2;
    logarithm += std::log(shared / static_cast<double>(result.written[n]));
  }
  result.score = 100 * result.brevity * std::exp(logarithm / kLongest);
  return result;
}

}  // namespace headlight::text
