// Loops over a text that write its new form, for normalizers.
#pragma once

#include <array>

#include "text/aligned_text.h"

namespace headlight::text {

// Rebuilds the text character by character: change(rewriter, range of the character, code).
template <class Change>
void each_character(AlignedText& text, const Change& change) {
  Rewriter to(text);
  for (std::uint32_t at = 0; at < text.size();) {
    const Character c = character_at(text.text(), at);
    change(to, Range{at, at + c.length}, c.code);
    at += c.length;
  }
  text = to.finish();
}

template <class Keep>
void keep_characters(AlignedText& text, const Keep& keep) {
  each_character(text, [&](Rewriter& to, Range range, char32_t code) {
    if (keep(code)) to.keep(range);
  });
}

struct AsciiChanges {
  bool lowercase = false;
  bool clean = false;  // line breaks and tabs become spaces, other control characters are dropped
};
// For Rewriter::map(): 0, which ends a run, for dropped control characters, for NUL, and beyond ASCII.
constexpr std::array<char, 256> ascii_table(AsciiChanges changes) {
  std::array<char, 256> table{};
  for (std::size_t i = 1; i < 128; ++i) {
    const char c = static_cast<char>(i);
    table[i] = changes.lowercase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (!changes.clean || (c >= ' ' && c != 0x7F)) continue;
    table[i] = c == '\t' || c == '\n' || c == '\r' ? ' ' : '\0';
  }
  return table;
}

}  // namespace headlight::text
