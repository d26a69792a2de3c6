#include "draw/legend_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "draw/map_cells.h"
#include "draw/scale_ticks.h"
#include "draw/terminal_line.h"

namespace headlight::draw {
namespace {

constexpr int kBarColumns = 40;

std::string masked_item(const TerminalStyle& style, const LegendParts& parts) {
  return concat(masked_glyph(style), masked_glyph(style), " ", parts.masked_words);
}

std::string words_of(const LegendParts& parts) {
  return parts.quantity.empty() ? std::string(quantity(parts.is_signed)) : parts.quantity;
}

std::string scale_words(const TerminalStyle& style) {
  return style.transfer == Transfer::linear ? "" : concat(" (", name_of(style.transfer), " scale)");
}

std::string color_bar(const TerminalStyle& style, const LegendParts& parts) {
  const std::string name = concat(words_of(parts), "  ");
  const int start = parts.indent + display_width(name);
  const int cells = std::max(16, std::min(kBarColumns, style.width - start - 16));
  const ColorScale scale = style.scale(parts.is_signed);

  TerminalLine bar, ticks;
  bar.advance_to(parts.indent);
  bar.text(name);
  for (int i = 0; i < cells; ++i) {
    const double place = (i + 0.5) / cells;
    const double y = parts.is_signed ? 2 * place - 1 : place;
    bar.put(" ", {}, paint_of(scale.top * untransferred(y, scale.transfer), style, parts.is_signed));
  }
  bar.text(scale_words(style));
  for (const Tick& tick : scale_ticks(scale)) {
    const std::string text =
        style.unicode() || !tick.text.starts_with("≤") ? tick.text : "<=" + tick.text.substr(3);
    const int width = display_width(text);
    const int column = start + static_cast<int>(std::lround(tick.place * (cells - 1))) - width / 2;
    if (ticks.column() > 0 && column <= ticks.column()) continue;
    ticks.advance_to(std::clamp(column, start, std::max(start, start + cells - width)));
    ticks.text(text);
  }
  if (parts.has_masked) {
    ticks.advance_to(start + cells + 2);
    ticks.text(masked_item(style, parts), dim_code(style));
  }
  return bar.finish() + ticks.finish();
}

// "░ 0.04–0.16" for every shade.
std::string shade_list(const TerminalStyle& style, const LegendParts& parts) {
  const std::size_t count = shade_count(style);
  const auto bound = [&](std::size_t level) {
    if (level == 0) return std::string("0");
    const double y = static_cast<double>(level) / static_cast<double>(count);
    return short_number(style.top * untransferred(y, style.transfer));
  };
  const std::string_view sign = parts.is_signed ? style.pick("±", "+-") : "";
  std::vector<std::string> items;
  for (std::size_t level = 0; level < count; ++level) {
    const std::string glyph = level == 0 ? "' '" : concat(sign, shade(style, level));
    items.push_back(concat(glyph, " ", bound(level), style.pick("–", "-"), bound(level + 1)));
  }
  if (parts.has_masked) items.push_back(masked_item(style, parts));
  const std::string name = concat(words_of(parts), "  ");
  return concat(std::string(static_cast<std::size_t>(parts.indent), ' '), name,
                flowed(items, style.width, parts.indent + display_width(name)), "\n");
}

}  // namespace

std::string legend_text(const TerminalStyle& style, const LegendParts& parts) {
  if (style.look == Look::table) return {};
  return style.colored() ? color_bar(style, parts) : shade_list(style, parts);
}

}  // namespace headlight::draw
