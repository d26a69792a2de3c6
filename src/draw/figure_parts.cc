#include "draw/figure_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "draw/scale_ticks.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr Index kMostShapes = 64;  // rows and columns up to which cells are separate shapes

void check_range(double x, double least, double most, std::string_view what) {
  if (x >= least && x <= most) return;
  throw Error(ErrorKind::usage, "draw.style",
              concat("figure: ", what, " ", x, " is not between ", least, " and ", most));
}

// Runs of masked cells, row by row: few boxes for the usual masks.
std::vector<Box> masked_boxes(const WeightMap& map, const Box& box) {
  const double width = box.width / static_cast<double>(map.columns());
  const double height = box.height / static_cast<double>(map.rows());
  std::vector<Box> boxes;
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      if (map.sees(i, j)) continue;
      const Index first = j;
      while (j + 1 < map.columns() && !map.sees(i, j + 1)) ++j;
      boxes.push_back({box.x + static_cast<double>(first) * width, box.y + static_cast<double>(i) * height,
                       static_cast<double>(j - first + 1) * width, height});
    }
  }
  return boxes;
}

}  // namespace

void check(const FigureStyle& style) {
  check_range(style.width_mm, 20, 2000, "width in mm");
  check_range(style.font_size, 3, 72, "font size in points");
  check_range(style.dpi, 36, 1200, "dpi");
  if (!(style.top > 0))
    throw Error(ErrorKind::usage, "draw.style", concat("figure: the scale ends at ", style.top));
}

FigurePage::FigurePage(const FigureStyle& given, std::string title)
    : style(given), colors(page_colors(given.theme)), margin_(0.4 * given.font_size) {
  check(given);
  drawing.width = given.width();
  drawing.background = colors.background;
  drawing.title = std::move(title);
  y = margin_;
  if (given.title.empty()) return;
  for (const std::string& line : typesetter.wrapped(given.title, ink(1.25, true), room())) {
    drawing.add(TextItem{{left(), y + 1.25 * font()}, line, ink(1.25, true)});
    y += 1.25 * kLineHeight * font();
  }
  y += 0.4 * font();
}

void FigurePage::heading(std::string_view text, std::string_view tag, double from, double to) {
  const TextLook look = ink(1, true), small = quiet(0.9);
  const double tag_width = typesetter.width(tag, small);
  double used = 0;
  for (const std::string& line : typesetter.wrapped(text, look, to - from)) {
    used = typesetter.width(line, look);
    drawing.add(TextItem{{from, y + font()}, line, look});
    y += kLineHeight * font();
  }
  if (tag.empty()) return;
  if (used + tag_width + font() <= to - from) {
    drawing.add(
        TextItem{{from + used + font() * 0.8, y - (kLineHeight - 1) * font()}, std::string(tag), small});
  } else {
    drawing.add(TextItem{{from, y + font() * 0.9}, typesetter.fitted(tag, small, to - from), small});
    y += kLineHeight * 0.9 * font();
  }
}

void FigurePage::cells(const WeightMap& map, const Box& box) {
  const ColorScale scale = style.scale(map.is_signed);
  const double pitch = box.width / static_cast<double>(map.columns());
  CellsItem item{.box = box, .rows = map.rows(), .columns = map.columns(), .gap = 0, .colors = {}};
  const bool bitmap = map.rows() > kMostShapes || map.columns() > kMostShapes;
  item.bitmap = bitmap;
  if (pitch >= 6 && !bitmap) item.gap = std::clamp(0.05 * pitch, 0.4, 1.0);
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      item.colors.push_back(map.sees(i, j) ? std::optional<Rgb>(scale.color(map.weight(i, j)))
                                           : std::nullopt);
    }
  }
  drawing.add(std::move(item));
  if (map.has_masked()) drawing.add(HatchItem{masked_boxes(map, box), colors.hatch});

  // A thin frame, because small weights have almost the colour of the page.
  drawing.add(LineItem{.points = {{box.x, box.y},
                                  {box.right(), box.y},
                                  {box.right(), box.bottom()},
                                  {box.x, box.bottom()},
                                  {box.x, box.y}},
                       .color = colors.line,
                       .width = 0.5});
  const TextLook digits = ink(std::min(0.85, 0.36 * pitch / font()));
  if (!style.numbers || digits.size < 0.6 * font() || bitmap) return;
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      if (!map.sees(i, j)) continue;
      const double x = map.weight(i, j);
      TextLook look = digits;
      look.color = ink_on(scale.color(x));
      drawing.add(TextItem{{box.x + (static_cast<double>(j) + 0.5) * pitch,
                            box.y + (static_cast<double>(i) + 0.5) * pitch + look.size * kCapHeight / 2},
                           map.is_signed ? fmt::format("{:+.2f}", x) : fmt::format("{:.2f}", x),
                           look,
                           Anchor::middle});
    }
  }
}

void FigurePage::legend(const Legend& parts) {
  const double size = font(), height = 0.9 * size;
  const TextLook name = ink(0.95), small = quiet(0.85);
  const ColorScale scale = style.scale(parts.is_signed);
  const std::string words = parts.quantity.empty() ? std::string(quantity(parts.is_signed)) : parts.quantity;
  double x = left() + typesetter.width(words, name) + 0.7 * size;
  drawing.add(TextItem{{left(), y + 0.8 * size}, words, name});

  const double bar = std::min(room() - (x - left()) - 0.5 * size, std::max(14 * size, 0.35 * room()));
  CellsItem item{.box = {x, y, bar, height}, .rows = 1, .columns = 64, .gap = 0, .colors = {}};
  for (std::size_t i = 0; i < 64; ++i) item.colors.emplace_back(scale.color_at((i * 255 + 31) / 63));
  drawing.add(std::move(item));
  drawing.add(LineItem{.points = {{x, y}, {x + bar, y}, {x + bar, y + height}, {x, y + height}, {x, y}},
                       .color = colors.line,
                       .width = 0.5});
  double last = -1e9;
  const std::vector<Tick> ticks = scale_ticks(scale);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double at = x + ticks[i].place * bar, half = typesetter.width(ticks[i].text, small) / 2;
    const bool is_end = i == 0 || i + 1 == ticks.size();
    const double end_room = x + bar - 2 * half - size * 0.4;  // of the last number, which is always drawn
    if (at - half < last + 0.4 * size || (!is_end && at + half > end_room)) continue;
    drawing.add(LineItem{
        .points = {{at, y + height}, {at, y + height + 0.2 * size}}, .color = colors.quiet, .width = 0.5});
    drawing.add(TextItem{{at, y + height + 1.0 * size}, ticks[i].text, small, Anchor::middle});
    last = at + half;
  }
  x += bar + 1.2 * size;
  std::string note = style.transfer == Transfer::linear ? "" : concat(name_of(style.transfer), " scale");
  const auto place = [&](double need) {
    if (x + need <= right()) return;
    x = left();
    y += height + 1.6 * size;
  };
  double below = y;
  if (!note.empty()) {
    place(typesetter.width(note, small));
    drawing.add(TextItem{{x, y + 0.8 * size}, note, small});
    x += typesetter.width(note, small) + 1.2 * size;
  }
  if (parts.has_masked) {
    const double swatch = 1.6 * size;
    place(swatch + 0.4 * size + typesetter.width(parts.masked_words, small));
    drawing.add(HatchItem{{{x, y, swatch, height}}, colors.hatch});
    drawing.add(
        LineItem{.points = {{x, y}, {x + swatch, y}, {x + swatch, y + height}, {x, y + height}, {x, y}},
                 .color = colors.line,
                 .width = 0.5});
    drawing.add(TextItem{{x + swatch + 0.4 * size, y + 0.8 * size}, parts.masked_words, small});
  }
  y = std::max(below, y) + height + (y > below ? 0.8 : 1.5) * size;
}

void FigurePage::paragraph(std::string_view text) {
  const TextLook look = quiet(0.95);
  for (const std::string& line : typesetter.wrapped(text, look, room())) {
    drawing.add(TextItem{{left(), y + look.size}, line, look});
    y += kLineHeight * look.size;
  }
}

Drawing FigurePage::finish() {
  if (!style.caption.empty()) {
    y += 0.5 * font();
    paragraph(style.caption);
  }
  drawing.height = y + margin_;
  return std::move(drawing);
}

std::string pooling_note(const WeightMap& map) {
  if (!map.is_pooled()) return {};
  return concat("Each cell is the largest of ", map.rows_in_cell, "×", map.columns_in_cell, " weights.");
}

}  // namespace headlight::draw
