// Shared by all figures: a page that grows downwards, cells, legends, captions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/figure_style.h"
#include "draw/typesetter.h"

namespace headlight::draw {

// A figure that is being built. `y` is where the next part starts.
class FigurePage {
 public:
  FigurePage(const FigureStyle& style, std::string title);

  Drawing drawing;
  Typesetter typesetter;
  const FigureStyle& style;
  PageColors colors;
  double y = 0;

  [[nodiscard]] double font() const noexcept { return style.font_size; }
  [[nodiscard]] double left() const noexcept { return margin_; }
  [[nodiscard]] double right() const noexcept { return style.width() - margin_; }
  [[nodiscard]] double room() const noexcept { return right() - left(); }
  [[nodiscard]] TextLook ink(double size = 1, bool bold = false) const {
    return {font() * size, colors.ink, bold};
  }
  [[nodiscard]] TextLook quiet(double size = 1) const { return {font() * size, colors.quiet, false}; }

  // A heading between two positions; `tag` is to its right, or below if there is no space.
  void heading(std::string_view text, std::string_view tag, double from, double to);
  // The cells of a map, hatched where the query cannot see the key, with numbers if requested.
  void cells(const WeightMap& map, const Box& box);
  // A colour bar with numbers, and a sample of masked cells.
  struct Legend {
    bool is_signed = false, has_masked = false;
    std::string masked_words = "not visible";
    std::string quantity = {};  // none: the usual one
  };
  void legend(const Legend& parts);
  // Wrapped, in muted colour.
  void paragraph(std::string_view text);
  // Height of the drawn part.
  [[nodiscard]] Drawing finish();

 private:
  double margin_;
};

// "Each cell is the largest of 4×4 weights.", or nothing.
[[nodiscard]] std::string pooling_note(const WeightMap& map);

}  // namespace headlight::draw
