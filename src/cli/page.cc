#include "cli/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "draw/color.h"

namespace headlight::cli {
namespace {

constexpr int kIndent = 3;

std::string sgr(std::string_view code, std::string_view text) {
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

// Text and background colour for a weight. The shade is its square root, so that small weights can be
// distinguished.
std::string shade_code(ColorDepth depth, double weight) {
  const double x = std::sqrt(std::max(weight, 0.0));
  if (depth == ColorDepth::full) {
    const draw::Rgb b = draw::weight_color(x), i = draw::ink_on(b);
    return fmt::format("38;2;{};{};{};48;2;{};{};{}", i.r, i.g, i.b, b.r, b.g, b.b);
  }
  const int background = draw::weight_xterm_color(x);
  const bool black = draw::ink_on(draw::xterm_rgb(background)) == draw::Rgb{};
  return fmt::format("38;5;{};48;5;{}", black ? 16 : 231, background);
}

}  // namespace

std::string number_text(double x) {
  if (std::abs(x) >= 9999.99995) return fmt::format("{:.3g}", x);
  std::string text = fmt::format("{:.4f}", x);
  return text == "-0.0000" ? "0.0000" : text;
}

std::string Page::bold(std::string_view text) const {
  return style_.color == ColorDepth::none ? std::string(text) : sgr("1", text);
}

std::string Page::dim(std::string_view text) const {
  return style_.color == ColorDepth::none ? std::string(text) : sgr("2", text);
}

std::string Page::marked(std::string_view text) const {
  return style_.color == ColorDepth::none ? concat("[", text, "]") : sgr("1;7", concat(" ", text, " "));
}

std::string Page::shaded(std::string_view text, double weight) const {
  if (style_.color == ColorDepth::none) return std::string(text);
  return sgr(shade_code(style_.color, weight), text);
}

std::string Page::bar(double weight, int cells) const {
  std::string text = draw::bar(weight, cells, style_.glyphs);
  return style_.color == ColorDepth::none || text.empty() ? text : sgr("36", text);
}

void Page::line(std::string_view text) {
  // Tables pad their cells; remove spaces at the end of lines.
  const std::size_t last = text.find_last_not_of(' ');
  text_ += text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  text_ += '\n';
}

void Page::rule() {
  std::string text;
  for (int i = 0; i < style_.width - 2; ++i) text += glyph("─", "-");
  line(dim(text));
}

void Page::step(std::string_view name, std::string_view text) {
  line();
  line(bold(concat(++steps_, "  ", name)));
  sentence(text);
  line();
}

void Page::sentence(std::string_view text) {
  line(std::string(kIndent, ' ') + draw::wrapped(text, style_.width - 2, kIndent));
}

void Page::legend() {
  if (style_.color == ColorDepth::none) return;
  std::string colors;
  constexpr int cells = 32;
  for (int i = 0; i < cells; ++i) {
    const double x = (i + 0.5) / cells;
    colors += shaded(" ", x * x);
  }
  line(concat("   weight 0 ", colors, " 1   ", dim("(shade: square root)")));
}

}  // namespace headlight::cli
