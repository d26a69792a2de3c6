// A page of text for the terminal: headings, sentences, tables of numbers, weights as shades.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "draw/text.h"
#include "headlight/tensor.h"

namespace headlight::cli {

struct PageStyle {
  ColorDepth color = ColorDepth::none;
  draw::Glyphs glyphs = draw::Glyphs::unicode;
  int width = 80;
};

// "0.2379", "-0.5874", "1.2e+07": short, and always the same text for the same number.
[[nodiscard]] std::string number_text(double x);

class Page {
 public:
  explicit Page(const PageStyle& style) : style_(style) {}

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const PageStyle& style() const { return style_; }
  [[nodiscard]] bool unicode() const { return style_.glyphs == draw::Glyphs::unicode; }
  // unicode_text if the terminal can show it, else ascii_text.
  [[nodiscard]] std::string glyph(std::string_view unicode_text, std::string_view ascii_text) const {
    return std::string(unicode() ? unicode_text : ascii_text);
  }

  [[nodiscard]] std::string bold(std::string_view text) const;
  [[nodiscard]] std::string dim(std::string_view text) const;
  [[nodiscard]] std::string marked(std::string_view text) const;  // reversed, or in [brackets]
  // Text on the colour of a weight; unchanged without colour.
  [[nodiscard]] std::string shaded(std::string_view text, double weight) const;
  [[nodiscard]] std::string bar(double weight, int cells) const;

  void line(std::string_view text = {});
  void rule();
  // The next step: its number and name, then a sentence.
  void step(std::string_view name, std::string_view sentence);
  // Wrapped, with the indentation of a step.
  void sentence(std::string_view text);
  // The colours from 0 to 1, if there are colours.
  void legend();

 private:
  PageStyle style_;
  std::string text_;
  int steps_ = 0;
};

}  // namespace headlight::cli
