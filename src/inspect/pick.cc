// Selects words of a text by name, occurrence or position.
#include <algorithm>
#include <charconv>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/encoded_text.h"
#include "inspect/sides.h"
#include "text/words.h"

namespace headlight::inspect {
namespace {

constexpr std::size_t kListed = 40;  // words in a message

std::string word_list(const EncodedText& encoded) {
  std::string list;
  const std::vector<Word> words = words_of(encoded);
  for (std::size_t i = 0; i < std::min(words.size(), kListed); ++i) {
    list += concat(i == 0 ? "" : " ", escaped(words[i].label, 40));
  }
  return words.size() > kListed ? concat(list, " … (", words.size(), " words)") : list;
}

[[noreturn]] void refuse(const EncodedText& encoded, std::string_view what, std::string_view found) {
  throw Error(ErrorKind::usage, "inspect.word",
              concat("\"", escaped(what, 60), "\"", found.starts_with("is ") ? " " : ": ", found,
                     "\nThe words are: ", word_list(encoded)));
}

using text::Case;

// All occurrences of the words, as whole words: "he" is not in "the".
std::vector<Range> places(const EncodedText& encoded, std::string_view words, Case rule) {
  std::vector<Range> found;
  for (const text::ByteSpan place : text::places_of(encoded.text, words, rule)) {
    const Range tokens = tokens_at(encoded, place.begin, place.end);
    if (tokens.size() > 0 && (found.empty() || found.back() != tokens)) found.push_back(tokens);
  }
  return found;
}

// Labels of single tokens: special ones, parts of words, ids.
std::vector<Range> labelled(const EncodedText& encoded, std::string_view label, Case rule) {
  std::vector<Range> found;
  for (Index i = 0; i < encoded.size(); ++i) {
    if (text::are_equal(encoded.tokens[static_cast<std::size_t>(i)].label, label, rule))
      found.push_back({i, i + 1});
  }
  return found;
}

std::vector<Range> all_places(const EncodedText& encoded, std::string_view words) {
  for (const Case rule : {Case::exact, Case::any}) {
    std::vector<Range> found = places(encoded, words, rule);
    if (found.empty()) found = labelled(encoded, words, rule);
    if (!found.empty()) return found;
  }
  return {};
}

std::optional<Index> number(std::string_view text) {
  Index value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string label_of(const EncodedText& encoded, Range tokens, std::string_view words) {
  return tokens.size() == 1 ? encoded.tokens[static_cast<std::size_t>(tokens.begin)].label
                            : std::string(words);
}

}  // namespace

Range tokens_at(const EncodedText& encoded, std::size_t begin, std::size_t end) {
  Range range{0, 0};
  for (Index i = 0; i < encoded.size(); ++i) {
    const EncodedToken& token = encoded.tokens[static_cast<std::size_t>(i)];
    if (token.added || token.end <= begin || token.begin >= end) continue;
    if (range.size() == 0) range.begin = i;
    range.end = i + 1;
  }
  return range;
}

Pick pick(const EncodedText& encoded, std::string_view what) {
  if (what.empty()) refuse(encoded, what, "the word is empty");
  if (what.size() > 1 && what[0] == '@') {
    const std::optional<Index> at = number(what.substr(1));
    if (at && *at >= 0 && *at < encoded.size())
      return {{label_of(encoded, {*at, *at + 1}, what), {*at, *at + 1}}, ""};
    if (at) refuse(encoded, what, concat("tokens are numbered 0 to ", encoded.size() - 1));
  }
  std::vector<Range> found = all_places(encoded, what);
  const std::size_t hash = what.rfind('#');
  if (found.empty() && hash != std::string_view::npos && hash > 0) {
    const std::optional<Index> nth = number(what.substr(hash + 1));
    const std::string_view words = what.substr(0, hash);
    if (nth) {
      found = all_places(encoded, words);
      const auto count = static_cast<Index>(found.size());
      if (count > 0 && (*nth < 1 || *nth > count)) {
        refuse(encoded, what,
               concat("\"", escaped(words, 40), "\" occurs ", count, count == 1 ? " time" : " times"));
      }
      if (count > 0) {
        const Range tokens = found[static_cast<std::size_t>(*nth - 1)];
        return {{label_of(encoded, tokens, words), tokens}, ""};
      }
    }
  }
  if (found.empty()) refuse(encoded, what, "is not in the text");
  Pick result{{label_of(encoded, found[0], what), found[0]}, ""};
  result.others = static_cast<Index>(found.size()) - 1;
  if (found.size() > 1) {
    result.note =
        concat("\"", escaped(what, 40), "\" occurs ", found.size(), " times: using the first (token ",
               found[0].begin, "); \"", escaped(what, 40), "#2\" is the next");
  }
  return result;
}

}  // namespace headlight::inspect
