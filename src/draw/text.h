// Text in columns: display width, padding, shortening, wrapping; and bars made of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::draw {

// Display width of UTF-8 text in columns: East Asian characters and emoji two, combining marks none.
[[nodiscard]] int display_width(std::string_view text);

// A display unit: a character with the marks that combine with it.
struct Cluster {
  std::string bytes;
  int width = 1;
};
[[nodiscard]] std::vector<Cluster> clusters(std::string_view text);

// At most `width` columns; shortened text ends in "…".
[[nodiscard]] std::string shortened(std::string_view text, int width);
// Exactly `width` columns, shortened when longer.
[[nodiscard]] std::string left_aligned(std::string_view text, int width);
[[nodiscard]] std::string right_aligned(std::string_view text, int width);

// Breaks at spaces. Every line starts at column `indent`; the caller writes the spaces of the first line.
// No line is longer than `width`, unless a single word is.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent);

// Items two spaces apart, wrapped like wrapped(). No item is broken.
[[nodiscard]] std::string flowed(const std::vector<std::string>& items, int width, int indent);

// A bar of part·cells columns, in steps of an eighth of a column, or of a whole '#' in ASCII.
enum class Glyphs { unicode, ascii };
[[nodiscard]] std::string bar(double part, int cells, Glyphs glyphs);

}  // namespace headlight::draw
