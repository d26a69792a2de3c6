#include "text/charsmap.h"

#include <utf8proc.h>

#include <algorithm>

#include "headlight/error.h"
#include "text/normalizer.h"

namespace headlight::text {
namespace {

// Rules are a few characters long. The limit also ends cycles in a damaged table.
constexpr std::size_t kLongestRule = 256;  // bytes

[[noreturn]] void refuse_charsmap(const char* what) {
  throw Error(ErrorKind::input, "tokenizer.charsmap", what);
}

}  // namespace

CharsmapTable::CharsmapTable(std::string_view bytes) {
  if (bytes.empty()) return;
  std::uint32_t trie_bytes = 0;
  if (bytes.size() < 4) refuse_charsmap("charsmap: shorter than its own header");
  for (std::size_t i = 0; i < 4; ++i)
    trie_bytes |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  if (trie_bytes > bytes.size() - 4 || trie_bytes % 4 != 0)
    refuse_charsmap("charsmap: the trie does not fit into it");
  units_.resize(trie_bytes / 4);
  for (std::size_t i = 0; i < units_.size(); ++i) {
    for (std::size_t b = 0; b < 4; ++b)
      units_[i] |= std::uint32_t{static_cast<unsigned char>(bytes[4 + 4 * i + b])} << (8 * b);
  }
  replacements_ = bytes.substr(4 + trie_bytes);
  if (!is_well_formed(replacements_)) refuse_charsmap("charsmap: the replacements are not UTF-8");
  if (!replacements_.empty() && replacements_.back() != '\0') replacements_ += '\0';
}

// A unit stores a label, an offset to its children and whether a value follows (Yata's darts-clone).
template <class Seen>
void CharsmapTable::walk(std::string_view text, const Seen& seen, std::size_t* steps) const noexcept {
  const auto offset_of = [](std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); };
  if (units_.empty()) return;
  std::uint32_t place = offset_of(units_[0]);
  for (std::size_t i = 0; i < std::min(text.size(), kLongestRule); ++i) {
    const auto label = static_cast<unsigned char>(text[i]);
    place ^= label;
    if (place >= units_.size()) return;
    const std::uint32_t unit = units_[place];
    if ((unit & ((1U << 31) | 0xFFU)) != label) return;
    place ^= offset_of(unit);
    if (steps != nullptr) *steps = i + 1;
    if (((unit >> 8) & 1U) == 0) continue;
    if (place >= units_.size()) return;
    const std::uint32_t value = units_[place] & ((1U << 31) - 1);
    if (value < replacements_.size() && !seen(Match{i + 1, replacements_.c_str() + value})) return;
  }
}

std::optional<CharsmapTable::Match> CharsmapTable::shortest(std::string_view text) const noexcept {
  std::optional<Match> found;
  walk(text, [&](Match match) {
    found = match;
    return false;
  });
  return found;
}

std::optional<CharsmapTable::Match> CharsmapTable::longest(std::string_view text) const noexcept {
  std::optional<Match> found;
  walk(text, [&](Match match) {
    found = match;
    return true;
  });
  return found;
}

bool CharsmapTable::starts_rule_in_ascii(char first) const noexcept {
  bool found = false;
  for (int second = 0; !found && second < 0x80; ++second) {
    const char both[] = {first, static_cast<char>(second)};
    std::size_t steps = 0;
    walk(
        {both, 2}, [&](Match) { return !(found = true); }, &steps);
    found = found || steps == 2;
  }
  return found;
}

void apply_charsmap(const CharsmapTable& table, AlignedText& text, std::size_t limit) {
  if (table.empty()) return;
  constexpr std::size_t kLongestGrapheme = 5;  // bytes; longer ones are replaced character by character
  const std::string_view from = text.text();
  Rewriter to(text);
  Transformer transformer(text, to);
  const auto put = [&](std::string_view old_text, std::string_view new_text) {
    const auto before = static_cast<int>(count_characters(old_text));
    const auto after = static_cast<int>(count_characters(new_text));
    if (after == 0) return transformer.drop(before);
    int i = 0;
    for (std::size_t at = 0; at < new_text.size(); ++i) {
      const Character c = character_at(new_text, at);
      at += c.length;
      const bool last = i + 1 == after;
      transformer.put(c.code, i >= before ? 1 : last && after < before ? after - before : 0);
    }
  };
  for (std::size_t at = 0; at < from.size() && to.size() <= limit;) {
    Character previous = character_at(from, at);
    std::size_t end = at + previous.length;
    utf8proc_int32_t state = 0;
    while (end < from.size()) {
      const Character next = character_at(from, end);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous.code),
                                           static_cast<utf8proc_int32_t>(next.code), &state))
        break;
      previous = next;
      end += next.length;
    }
    const std::string_view grapheme = from.substr(at, end - at);
    const auto whole = grapheme.size() <= kLongestGrapheme ? table.shortest(grapheme) : std::nullopt;
    if (whole) {
      put(grapheme, whole->replacement);
    } else {
      for (std::size_t i = 0; i < grapheme.size();) {
        const Character c = character_at(grapheme, i);
        const std::string_view one = grapheme.substr(i, c.length);
        const auto match = table.shortest(one);
        put(one, match ? match->replacement : one);
        i += c.length;
      }
    }
    at = end;
  }
  text = to.finish();
}

}  // namespace headlight::text
