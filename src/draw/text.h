// Text in columns: how wide it is on a terminal, padded, shortened, wrapped; and bars made of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::draw {

// Columns that UTF-8 text takes: East Asian characters and emoji two, combining marks none.
[[nodiscard]] int display_width(std::string_view text);

// A display unit: a character with the marks that combine with it.
struct Cluster {
  std::string bytes;
  int width = 1;
};
[[nodiscard]] std::vector<Cluster> clusters(std::string_view text);

// At most `width` columns; what is cut ends in "…".
[[nodiscard]] std::string shortened(std::string_view text, int width);
// Exactly `width` columns, shortened when longer.
[[nodiscard]] std::string left_aligned(std::string_view text, int width);
[[nodiscard]] std::string right_aligned(std::string_view text, int width);

// Breaks at spaces. Every line starts at column `indent`, the first one's spaces being the caller's;
// none ends after column `width` unless one word does.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent);

// Items two spaces apart, in as many lines as it takes, laid out as by wrapped(). No item is broken.
[[nodiscard]] std::string flowed(const std::vector<std::string>& items, int width, int indent);

// A bar of part·cells columns, to an eighth of a column, or to a whole one of '#' in ASCII.
enum class Glyphs { unicode, ascii };
[[nodiscard]] std::string bar(double part, int cells, Glyphs glyphs);

}  // namespace headlight::draw
