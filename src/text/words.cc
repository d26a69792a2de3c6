#include "text/words.h"

#include <algorithm>
#include <array>

#include "text/unicode.h"

namespace headlight::text {
namespace {

enum class Kind { space, word, unspaced, mark, symbol };

// Scripts without spaces between words. (Tibetan has its own separators, which are punctuation.)
bool is_unspaced(char32_t code) {
  struct Block {
    char32_t first, last;
  };
  static constexpr std::array<Block, 12> blocks = {{
      {0x0E00, 0x0EFF},    // Thai, Lao
      {0x1000, 0x109F},    // Burmese
      {0x1780, 0x17FF},    // Khmer
      {0x3005, 0x3007},    // 々 〆 〇
      {0x3040, 0x30FF},    // kana
      {0x31F0, 0x31FF},    // kana for Ainu
      {0x3400, 0x4DBF},    // Han
      {0x4E00, 0x9FFF},    // Han
      {0xA9E0, 0xAA7F},    // Burmese, continued
      {0xF900, 0xFAFF},    // Han
      {0xFF66, 0xFF9F},    // narrow kana
      {0x20000, 0x323AF},  // Han
  }};
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const Block& b) { return b.first <= code && code <= b.last; });
}

bool is_joiner(char32_t code) {
  constexpr std::u32string_view joiners = U"'’-.,:·_&\u2010\u2011";  // the last two: hyphens
  return joiners.find(code) != std::u32string_view::npos;
}

Kind kind_of(char32_t code) {
  const std::uint8_t classes = classes_of(code);
  if ((classes & kSpace) != 0) return Kind::space;
  // Joiners and selectors without a width, such as those inside emoji, belong to what they follow.
  if ((classes & kMark) != 0 || code == 0x200C || code == 0x200D) return Kind::mark;
  if ((classes & (kLetter | kNumber)) == 0) return Kind::symbol;
  return is_unspaced(code) ? Kind::unspaced : Kind::word;
}

struct Seen {
  std::size_t begin = 0, end = 0;
  Kind kind = Kind::symbol;
  bool joins = false;
};

// The characters of the text, each with the marks that follow it.
std::vector<Seen> characters_of(std::string_view text) {
  std::vector<Seen> out;
  for (std::size_t at = 0; at < text.size();) {
    const NextBytes next = next_bytes(text.substr(at));
    const std::size_t end = at + std::max<std::size_t>(1, next.length);
    const char32_t code = next.well_formed ? character_at(text, at).code : kReplacement;
    const Kind kind = kind_of(code);
    if (kind == Kind::mark && !out.empty() && out.back().kind != Kind::space && out.back().end == at) {
      out.back().end = end;  // one user-perceived character
    } else {
      out.push_back({at, end, kind == Kind::mark ? Kind::word : kind, is_joiner(code)});
    }
    at = end;
  }
  return out;
}

}  // namespace

std::vector<ByteSpan> word_spans(std::string_view text) {
  const std::vector<Seen> seen = characters_of(text);
  const auto is_word = [&](std::size_t i) { return i < seen.size() && seen[i].kind == Kind::word; };
  std::vector<ByteSpan> spans;
  for (std::size_t i = 0; i < seen.size();) {
    std::size_t last = i;
    if (is_word(i)) {
      while (is_word(last + 1) || (last + 1 < seen.size() && seen[last + 1].joins && is_word(last + 2)))
        last += is_word(last + 1) ? 1 : 2;
    }
    if (seen[i].kind != Kind::space) spans.push_back({seen[i].begin, seen[last].end});
    i = last + 1;
  }
  return spans;
}

std::vector<bool> word_edges(std::string_view text) {
  const std::vector<Seen> seen = characters_of(text);
  std::vector<bool> edges(text.size() + 1, false);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const bool inside = i > 0 && seen[i - 1].kind == Kind::word && seen[i].kind == Kind::word;
    edges[seen[i].begin] = !inside;
  }
  edges[text.size()] = true;
  return edges;
}

bool are_equal(std::string_view a, std::string_view b, Case rule) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return rule == Case::exact ? x == y : lower(x) == lower(y); });
}

std::vector<ByteSpan> places_of(std::string_view text, std::string_view words, Case rule) {
  std::vector<ByteSpan> places;
  if (words.empty() || words.size() > text.size()) return places;
  const std::vector<bool> edges = word_edges(text);
  for (std::size_t at = 0; at + words.size() <= text.size(); ++at) {
    const std::size_t end = at + words.size();
    if (edges[at] && edges[end] && are_equal(text.substr(at, words.size()), words, rule))
      places.push_back({at, end});
  }
  return places;
}

std::string_view without_outer_spaces(std::string_view text) {
  const std::vector<Seen> seen = characters_of(text);
  const auto solid = [](const Seen& s) { return s.kind != Kind::space; };
  const auto first = std::find_if(seen.begin(), seen.end(), solid);
  if (first == seen.end()) return {};
  const auto last = std::find_if(seen.rbegin(), seen.rend(), solid);
  return text.substr(first->begin, last->end - first->begin);
}

bool is_punctuation(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const NextBytes next = next_bytes(text.substr(at));
    if (!next.well_formed) return false;
    const Character c = character_at(text, at);
    const bool ascii_symbol = c.code > ' ' && c.code < 0x7F && !is_one_of(c.code, kLetter | kNumber);
    if (!ascii_symbol && !is_one_of(c.code, kPunctuation)) return false;
    at += c.length;
  }
  return !text.empty();
}

bool has_letter_or_digit(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (!next_bytes(text.substr(at)).well_formed) return true;
    const Character c = character_at(text, at);
    if (is_one_of(c.code, kLetter | kNumber)) return true;
    at += c.length;
  }
  return false;
}

}  // namespace headlight::text
