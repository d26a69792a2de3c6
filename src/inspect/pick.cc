// Words picked out of a text by name, number or place.
#include <algorithm>
#include <charconv>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "inspect/reading.h"
#include "inspect/sides.h"
#include "text/words.h"

namespace headlight::inspect {
namespace {

constexpr std::size_t kListed = 40;  // words in a message

std::string word_list(const Reading& reading) {
  std::string list;
  const std::vector<Word> words = words_of(reading);
  for (std::size_t i = 0; i < std::min(words.size(), kListed); ++i) {
    list += concat(i == 0 ? "" : " ", escaped(words[i].label, 40));
  }
  return words.size() > kListed ? concat(list, " … (", words.size(), " words)") : list;
}

[[noreturn]] void refuse(const Reading& reading, std::string_view what, std::string_view found) {
  throw Error(ErrorKind::usage, "inspect.word",
              concat("\"", escaped(what, 60), "\": ", found, "\nThe words are: ", word_list(reading)));
}

using text::Case;

// Every place of the words, as whole words: "he" is not in "the".
std::vector<Range> places(const Reading& reading, std::string_view words, Case rule) {
  std::vector<Range> found;
  for (const text::ByteSpan place : text::places_of(reading.text, words, rule)) {
    const Range tokens = tokens_at(reading, place.begin, place.end);
    if (tokens.size() > 0 && (found.empty() || found.back() != tokens)) found.push_back(tokens);
  }
  return found;
}

// Labels of single tokens: special ones, parts of words, ids.
std::vector<Range> labelled(const Reading& reading, std::string_view label, Case rule) {
  std::vector<Range> found;
  for (Index i = 0; i < reading.size(); ++i) {
    if (text::are_equal(reading.tokens[static_cast<std::size_t>(i)].label, label, rule))
      found.push_back({i, i + 1});
  }
  return found;
}

std::vector<Range> all_places(const Reading& reading, std::string_view words) {
  for (const Case rule : {Case::exact, Case::any}) {
    std::vector<Range> found = places(reading, words, rule);
    if (found.empty()) found = labelled(reading, words, rule);
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

std::string label_of(const Reading& reading, Range tokens, std::string_view words) {
  return tokens.size() == 1 ? reading.tokens[static_cast<std::size_t>(tokens.begin)].label
                            : std::string(words);
}

}  // namespace

Range tokens_at(const Reading& reading, std::size_t begin, std::size_t end) {
  Range range{0, 0};
  for (Index i = 0; i < reading.size(); ++i) {
    const ReadToken& token = reading.tokens[static_cast<std::size_t>(i)];
    if (token.added || token.end <= begin || token.begin >= end) continue;
    if (range.size() == 0) range.begin = i;
    range.end = i + 1;
  }
  return range;
}

Pick pick(const Reading& reading, std::string_view what) {
  if (what.empty()) refuse(reading, what, "the word is empty");
  if (what.size() > 1 && what[0] == '@') {
    const std::optional<Index> at = number(what.substr(1));
    if (at && *at >= 0 && *at < reading.size())
      return {{label_of(reading, {*at, *at + 1}, what), {*at, *at + 1}}, ""};
    if (at) refuse(reading, what, concat("tokens are numbered 0 to ", reading.size() - 1));
  }
  std::vector<Range> found = all_places(reading, what);
  const std::size_t hash = what.rfind('#');
  if (found.empty() && hash != std::string_view::npos && hash > 0) {
    const std::optional<Index> nth = number(what.substr(hash + 1));
    const std::string_view words = what.substr(0, hash);
    if (nth) {
      found = all_places(reading, words);
      const auto count = static_cast<Index>(found.size());
      if (count > 0 && (*nth < 1 || *nth > count)) {
        refuse(reading, what,
               concat("\"", escaped(words, 40), "\" occurs ", count, count == 1 ? " time" : " times"));
      }
      if (count > 0) {
        const Range tokens = found[static_cast<std::size_t>(*nth - 1)];
        return {{label_of(reading, tokens, words), tokens}, ""};
      }
    }
  }
  if (found.empty()) refuse(reading, what, "is not in the text");
  Pick result{{label_of(reading, found[0], what), found[0]}, ""};
  result.others = static_cast<Index>(found.size()) - 1;
  if (found.size() > 1) {
    result.note =
        concat("\"", escaped(what, 40), "\" occurs ", found.size(), " times: using the first (token ",
               found[0].begin, "); \"", escaped(what, 40), "#2\" is the next");
  }
  return result;
}

}  // namespace headlight::inspect
