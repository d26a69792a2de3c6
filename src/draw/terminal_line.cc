#include "draw/terminal_line.h"

#include <fmt/core.h>

#include <algorithm>

namespace headlight::draw {
namespace {

std::string color_code(char layer, const Paint& paint) {
  if (paint.xterm >= 0) return fmt::format("{}8;5;{}", layer, paint.xterm);
  return fmt::format("{}8;2;{};{};{}", layer, paint.rgb.r, paint.rgb.g, paint.rgb.b);
}

}  // namespace

Paint paint_of(double value, const TerminalStyle& style, bool is_signed) {
  const ColorScale scale = style.scale(is_signed);
  if (style.look != Look::palette) return {scale.color(value), -1};
  const int index = scale.xterm_color(value);
  return {xterm_rgb(index), index};
}

Paint ink_on(const Paint& ground) {
  const Rgb ink = ink_on(ground.rgb);
  if (ground.xterm < 0) return {ink, -1};
  return {ink, ink == Rgb{} ? 16 : 231};
}

std::string in_glyphs(std::string text, const TerminalStyle& style) {
  constexpr std::string_view cut = "…";
  if (style.unicode()) return text;
  for (std::size_t at = 0; (at = text.find(cut, at)) != std::string::npos;)
    text.replace(at, cut.size(), 1, '~');
  return text;
}

std::string_view bold_code(const TerminalStyle& style) noexcept { return style.colored() ? "1" : ""; }
std::string_view dim_code(const TerminalStyle& style) noexcept { return style.colored() ? "2" : ""; }

void TerminalLine::switch_to(const std::string& codes) {
  if (codes == codes_) return;
  if (!codes_.empty()) out_ += "\x1b[0m";
  if (!codes.empty()) out_ += fmt::format("\x1b[{}m", codes);
  codes_ = codes;
}

void TerminalLine::text(std::string_view text, std::string_view code) {
  if (text.empty()) return;
  column_ += display_width(text);
  const std::size_t last = text.find_last_not_of(' ');
  const std::size_t kept = last == std::string_view::npos ? 0 : last + 1;
  if (kept > 0) {
    switch_to(spaces_ > 0 ? std::string() : std::string(code));
    out_.append(spaces_, ' ');
    spaces_ = 0;
    switch_to(std::string(code));
    out_ += text.substr(0, kept);
  }
  spaces_ += text.size() - kept;
}

void TerminalLine::put(std::string_view glyph, Color ink, Color ground) {
  if (!ink && !ground) return text(glyph);
  if (spaces_ > 0) {
    switch_to({});
    out_.append(spaces_, ' ');
    spaces_ = 0;
  }
  std::string codes;
  if (ink) codes = color_code('3', *ink);
  if (ground) codes.append(codes.empty() ? "" : ";").append(color_code('4', *ground));
  switch_to(codes);
  out_ += glyph;
  column_ += display_width(glyph);
}

void TerminalLine::advance_to(int column) {
  if (column > column_) text(std::string(static_cast<std::size_t>(column - column_), ' '));
}

std::string TerminalLine::finish() {
  switch_to({});
  return std::move(out_) + "\n";
}

}  // namespace headlight::draw
