#include "text/conllu.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/concat.h"
#include "core/escape.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kCode = "conllu.line";
constexpr std::size_t kColumns = 10;
enum Column : std::size_t { kId, kForm, kLemma, kUpos, kXpos, kFeats, kHead, kDeprel, kDeps, kMisc };

std::optional<Index> number(std::string_view text) {
  Index value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Parses "15-16" or "8.1" to both numbers; none if anything else follows.
std::optional<std::pair<Index, Index>> two_numbers(std::string_view text, char between) {
  const std::size_t at = text.find(between);
  if (at == std::string_view::npos) return std::nullopt;
  const auto first = number(text.substr(0, at)), second = number(text.substr(at + 1));
  if (!first || !second) return std::nullopt;
  return std::pair{*first, *second};
}

bool has_space_after(std::string_view misc) {
  for (const std::string_view entry : split(misc, '|'))
    if (entry == "SpaceAfter=No") return false;
  return true;
}

// "# key = value" as its value.
std::optional<std::string_view> comment_value(std::string_view line, std::string_view key) {
  line = trimmed(line.substr(1));
  if (!line.starts_with(key)) return std::nullopt;
  line = trimmed(line.substr(key.size()));
  if (!line.starts_with('=')) return std::nullopt;
  return trimmed(line.substr(1));
}

// A unit of the text: a word, or several written as one.
struct Surface {
  std::string form;
  Index first = 0, last = 0;  // words
  bool space_after = true;
  std::size_t line = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  std::vector<Tree> read(std::string_view bytes) {
    const std::vector<std::string_view> lines = lines_of(bytes);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      line_ = i + 1;
      check_utf8(here(), kCode, lines[i]);
      if (trimmed(lines[i]).empty()) finish();
      else if (lines[i].starts_with('#')) read_comment(lines[i]);
      else read_word(lines[i]);
    }
    finish();
    return std::move(trees_);
  }

 private:
  [[nodiscard]] FilePlace here() const { return {name_, line_}; }
  [[noreturn]] void refuse_here(const std::string& what) const { refuse(here(), kCode, what); }

  void read_comment(std::string_view line) {
    if (const auto value = comment_value(line, "text")) text_ = std::string(*value);
    else if (const auto id = comment_value(line, "sent_id")) tree_.id = std::string(*id);
    else if (const auto parallel = comment_value(line, "parallel_id"))
      tree_.parallel_id = std::string(*parallel);
  }

  void read_word(std::string_view line) {
    const std::vector<std::string_view> columns = split(line, '\t');
    if (columns.size() != kColumns)
      refuse_here(
          concat("a word has ", kColumns, " columns with tabs between; this line has ", columns.size()));
    if (columns[kForm].empty()) refuse_here("a word without a form");
    if (const auto range = two_numbers(columns[kId], '-')) return read_range(*range, columns);
    if (two_numbers(columns[kId], '.')) return;  // not in the text, so it has no tokens
    const auto id = number(columns[kId]);
    const auto count = static_cast<Index>(tree_.words.size());
    if (!id || *id != count + 1)
      refuse_here(concat("word number \"", escaped(columns[kId], 20), "\" where ", count + 1, " should be"));
    if (count >= kLongestTree) refuse_here(concat("a sentence of more than ", kLongestTree, " words"));
    const auto head = number(columns[kHead]);
    if (!head) refuse_here(concat("head \"", escaped(columns[kHead], 20), "\" is not a number"));
    const std::string_view relation = columns[kDeprel].substr(0, columns[kDeprel].find(':'));
    if (relation.empty() || relation == "_") refuse_here("a word without a relation");
    tree_.words.push_back({.form = std::string(columns[kForm]),
                           .part_of_speech = std::string(columns[kUpos]),
                           .relation = std::string(relation),
                           .head = *head - 1});
    lines_.push_back(line_);
    if (count < covered_) return;  // part of a surface that was written as one
    surfaces_.push_back({std::string(columns[kForm]), count, count, has_space_after(columns[kMisc]), line_});
  }

  void read_range(std::pair<Index, Index> range, const std::vector<std::string_view>& columns) {
    const auto next = static_cast<Index>(tree_.words.size()) + 1;
    if (range.first != next || range.second <= range.first || range.first <= covered_ ||
        range.second > kLongestTree)
      refuse_here(concat("\"", escaped(columns[kId], 20), "\" does not name words that follow"));
    covered_ = range.second;
    surfaces_.push_back({std::string(columns[kForm]), range.first - 1, range.second - 1,
                         has_space_after(columns[kMisc]), line_});
  }

  // The position of each surface form in the text; without a text, the joined forms.
  void place_words() {
    std::size_t at = 0;
    if (!text_) {
      std::string joined;
      for (const Surface& surface : surfaces_) joined += surface.form + (surface.space_after ? " " : "");
      text_ = std::string(trimmed(joined));
    }
    for (const Surface& surface : surfaces_) {
      // Any kind of space: some files use non-breaking ones.
      while (at < text_->size() && is_one_of(character_at(*text_, at).code, kSpace))
        at += character_at(*text_, at).length;
      if (!std::string_view(*text_).substr(at).starts_with(surface.form)) {
        refuse({name_, surface.line}, kCode,
               concat("\"", escaped(surface.form, 40),
                      "\" is not the next word of \"# text = ", escaped(*text_, 60), "\""));
      }
      for (Index w = surface.first; w <= surface.last; ++w) {
        tree_.words[static_cast<std::size_t>(w)].begin = at;
        tree_.words[static_cast<std::size_t>(w)].end = at + surface.form.size();
      }
      at += surface.form.size();
    }
  }

  void check_heads() const {
    const auto count = static_cast<Index>(tree_.words.size());
    std::vector<char> state(tree_.words.size(), 0);  // 1: on the current path, 2: reaches the root
    for (Index w = 0; w < count; ++w) {
      std::vector<Index> path;
      Index at = w;
      while (at >= 0 && state[static_cast<std::size_t>(at)] == 0) {
        state[static_cast<std::size_t>(at)] = 1;
        path.push_back(at);
        const Index head = tree_.words[static_cast<std::size_t>(at)].head;
        if (head >= count) {
          refuse({name_, lines_[static_cast<std::size_t>(at)]}, kCode,
                 concat("head ", head + 1, " in a sentence of ", count, " words"));
        }
        at = head;
      }
      if (at >= 0 && state[static_cast<std::size_t>(at)] == 1)
        refuse({name_, lines_[static_cast<std::size_t>(at)]}, kCode, "heads form a cycle");
      for (const Index seen : path) state[static_cast<std::size_t>(seen)] = 2;
    }
  }

  void finish() {
    if (static_cast<Index>(tree_.words.size()) < covered_) refuse_here("words of a range are missing");
    if (!tree_.words.empty()) {
      check_heads();
      place_words();
      tree_.text = std::move(*text_);
      trees_.push_back(std::move(tree_));
    }
    tree_ = {};
    text_.reset();
    surfaces_.clear();
    lines_.clear();
    covered_ = 0;
  }

  const std::string& name_;
  std::size_t line_ = 0;
  Tree tree_;
  std::optional<std::string> text_;
  std::vector<Surface> surfaces_;
  std::vector<std::size_t> lines_;  // of the words
  Index covered_ = 0;               // words up to this number belong to a range
  std::vector<Tree> trees_;
};

}  // namespace

std::vector<Tree> parse_conllu(std::string_view text, const std::string& name) {
  return Reader(name).read(text);
}

}  // namespace headlight::text
