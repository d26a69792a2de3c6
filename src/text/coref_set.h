// Coreference test sets: sentences with a pronoun, candidates, and the correct one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace headlight::text {

// Bytes of a text.
struct CorefItem {
  std::string id, text;
  std::string group;  // items of one group were written as variants of each other
  ByteSpan pronoun = {};
  std::vector<ByteSpan> candidates = {};
  std::size_t right = 0;  // index of the correct candidate
};

struct CorefSet {
  std::string kind;  // "Winograd schemas"
  std::vector<CorefItem> items = {};
  std::size_t left_out = 0;  // skipped items: no candidate is right, or one is not in the text
};

// Winograd's collection (XML), Winogender's sentences or GAP (both with tabs): the first line says which. Throws
// Error{input} that names the line.
[[nodiscard]] CorefSet parse_coref(std::string_view bytes, const std::string& name);

// The readers of the three formats.
[[nodiscard]] CorefSet parse_winograd(std::string_view bytes, const std::string& name);
[[nodiscard]] CorefSet parse_winogender(std::string_view bytes, const std::string& name);
[[nodiscard]] CorefSet parse_gap(std::string_view bytes, const std::string& name);

// Finds whole words in a text, ignoring case (of A to Z): the occurrence nearest before `near`, otherwise the
// first one after it; an empty span when there is none.
[[nodiscard]] ByteSpan find_words(std::string_view text, std::string_view words, std::size_t near);

}  // namespace headlight::text
