#include "text/coref_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/concat.h"
#include "core/escape.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kCode = "coref.line";
constexpr std::string_view kGapHeader =
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL";
constexpr std::string_view kWinogenderHeader = "sentid\tsentence";

// Converts a position in characters to one in bytes.
std::optional<std::size_t> byte_of(std::string_view text, std::size_t character) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < character; ++i) {
    if (at >= text.size()) return std::nullopt;
    at += length_from(text[at]);
  }
  return at;
}

class GapLine {
 public:
  GapLine(std::string_view line, const FilePlace& place) : place_(place), columns_(split(line, '\t')) {
    if (columns_.size() != 11)
      refuse(place_, kCode, concat("a line of GAP has 11 columns; this one has ", columns_.size()));
    check_utf8(place_, kCode, line);
  }
  [[nodiscard]] std::string column(std::size_t i) const { return std::string(columns_[i]); }
  // Finds the words of one column at the position that the next column gives.
  [[nodiscard]] ByteSpan span(std::size_t column) const {
    const std::string_view words = columns_[column], offset = columns_[column + 1], text = columns_[1];
    std::size_t characters = 0;
    const auto [end, problem] = std::from_chars(offset.data(), offset.data() + offset.size(), characters);
    if (problem != std::errc() || end != offset.data() + offset.size())
      refuse(place_, kCode, concat("offset \"", escaped(offset, 20), "\" is not a number"));
    const auto at = characters <= text.size() ? byte_of(text, characters) : std::nullopt;
    if (words.empty() || !at || !text.substr(*at).starts_with(words))
      refuse(place_, kCode,
             concat("\"", escaped(words, 40), "\" is not at character ", characters, " of its text"));
    return {*at, *at + words.size()};
  }
  [[nodiscard]] bool truth(std::size_t column) const {
    if (columns_[column] == "TRUE") return true;
    if (columns_[column] == "FALSE") return false;
    refuse(place_, kCode, concat("\"", escaped(columns_[column], 20), "\" is neither TRUE nor FALSE"));
  }

 private:
  FilePlace place_;
  std::vector<std::string_view> columns_;
};

// "he", "him" or "his" if it occurs exactly once in the sentence.
std::optional<ByteSpan> only_pronoun(std::string_view text) {
  constexpr std::string_view kPronouns[] = {"he",   "him",  "his",  "she",   "her",
                                            "hers", "they", "them", "their", "theirs"};
  std::optional<ByteSpan> found;
  for (const std::string_view pronoun : kPronouns) {
    for (const ByteSpan here : places_of(text, pronoun, Case::any)) {
      if (found) return std::nullopt;
      found = here;
    }
  }
  return found;
}

}  // namespace

ByteSpan find_words(std::string_view text, std::string_view words, std::size_t near) {
  ByteSpan found;
  for (const ByteSpan here : places_of(text, words, Case::any)) {
    if (here.end <= near) found = here;
    else if (here.begin >= near) return found == ByteSpan{} ? here : found;
  }
  return found;
}

CorefSet parse_winogender(std::string_view bytes, const std::string& name) {
  CorefSet set{.kind = "Winogender", .items = {}};
  const std::vector<std::string_view> lines = lines_of(bytes);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const FilePlace place{name, i + 1};
    if (lines[i].empty()) continue;
    const std::vector<std::string_view> columns = split(lines[i], '\t');
    if (columns.size() != 2)
      refuse(place, kCode, concat("a line of Winogender has 2 columns; this one has ", columns.size()));
    check_utf8(place, kCode, lines[i]);
    // "technician.customer.1.male.txt": occupation, other participant, and the number of the correct one.
    const std::vector<std::string_view> parts = split(columns[0], '.');
    if (parts.size() != 5 || (parts[2] != "0" && parts[2] != "1"))
      refuse(place, kCode,
             concat("\"", escaped(columns[0], 60), "\" is not JOB.OTHER.0.WHO.txt or JOB.OTHER.1.WHO.txt"));
    CorefItem item{.id = std::string(columns[0]),
                   .text = std::string(columns[1]),
                   .group = concat(parts[0], "."),
                   .candidates = {},
                   .right = parts[2] == "1" ? std::size_t{1} : 0};
    const auto pronoun = only_pronoun(item.text);
    for (const std::string_view who : {parts[0], parts[1]})
      if (pronoun) item.candidates.push_back(find_words(item.text, who, pronoun->begin));
    if (!pronoun ||
        std::find(item.candidates.begin(), item.candidates.end(), ByteSpan{}) != item.candidates.end()) {
      ++set.left_out;
      continue;
    }
    item.pronoun = *pronoun;
    set.items.push_back(std::move(item));
  }
  return set;
}

CorefSet parse_gap(std::string_view bytes, const std::string& name) {
  CorefSet set{.kind = "GAP", .items = {}};
  const std::vector<std::string_view> lines = lines_of(bytes);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const GapLine line(lines[i], {name, i + 1});
    CorefItem item{.id = line.column(0),
                   .text = line.column(1),
                   .group = line.column(0),
                   .pronoun = line.span(2),
                   .candidates = {line.span(4), line.span(7)}};
    const bool a = line.truth(6), b = line.truth(9);
    if (a == b) {  // neither is correct, or both are
      ++set.left_out;
      continue;
    }
    item.right = b ? 1 : 0;
    set.items.push_back(std::move(item));
  }
  return set;
}

CorefSet parse_coref(std::string_view bytes, const std::string& name) {
  const std::string_view start = trimmed(bytes.substr(0, bytes.find('\n')));
  if (start == kGapHeader) return parse_gap(bytes, name);
  if (start == kWinogenderHeader) return parse_winogender(bytes, name);
  if (trimmed(bytes).starts_with('<')) return parse_winograd(bytes, name);
  refuse({name, 1}, kCode,
         "is neither Winograd's collection (XML) nor Winogender's sentences nor GAP: its first line matches "
         "none of them");
}

}  // namespace headlight::text
