#include "cli/figures.h"

#include <CLI/App.hpp>
#include <span>

#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "draw/arrange.h"

namespace headlight::cli {

void add_length(CLI::App& command, const std::string& name, double& value,
                const std::vector<std::pair<std::string_view, double>>& units,
                const std::string& description) {
  const std::string_view usual = units[0].first;
  const bool size = usual == "MB", resolution = usual == "dpi";
  const std::string expected = concat(size         ? "a size"
                                      : resolution ? "a resolution"
                                                   : "a length",
                                      " such as 85", usual);
  const auto read = [&value, name, units, expected](const std::string& text) {
    for (const auto& [unit, factor] : units) {
      if (!text.ends_with(unit)) continue;
      if (const auto number = parse_real(std::string_view(text).substr(0, text.size() - unit.size()));
          number && *number > 0) {
        value = *number * factor;
        return;
      }
    }
    const auto number = parse_real(text);
    if (!number || *number <= 0) refuse_value(name, text, expected);
    value = *number;
  };
  add_reader(command, name, read, description)->type_name(size ? "SIZE" : resolution ? "N" : "LENGTH");
}

void add_figure_files(CLI::App& command, FigureOptions& f, const std::string& usual_pdf) {
  begin_group(command, "Output");
  add_path(command, "--png", f.png, "Draw a figure");
  add_path(command, "--svg", f.svg, "Draw a figure");
  Option pdf = add_path(command, "--pdf", f.pdf, "Draw a figure");
  if (!usual_pdf.empty()) pdf->alone(usual_pdf);
}

void add_figure_style(CLI::App& command, FigureOptions& f, Layout layout) {
  f.layout = layout;
  const bool fixed = layout == Layout::fixed;
  if (fixed) f.style.width_mm = f.style.font_size = f.style.dpi = 0;
  begin_group(command, "Figures", Detail::full);
  add_length(command, "--width", f.style.width_mm, {{"mm", 1}, {"cm", 10}, {"in", 25.4}},
             concat("Width of the figure (default: ", fixed ? "as drawn" : "160mm", ")"));
  add_length(command, "--font-size", f.style.font_size, {{"pt", 1}},
             concat("Size of the text (default: ", fixed ? "as drawn" : "8pt", ")"));
  add_length(command, "--dpi", f.style.dpi, {{"dpi", 1}},
             concat("Pixels per inch of a PNG (default: ", fixed ? "150" : "300", ")"));
  add_text(command, "--title", f.style.title, "Heading above the figure");
  add_reader(
      command, "--caption", [&f](const std::string& text) { f.caption = text; },
      concat("Text below the figure", fixed ? "" : " (default: text and model)"))
      ->type_name("TEXT");
}

void add_figures(CLI::App& command, FigureOptions& f, Layout layout) {
  add_figure_files(command, f);
  add_figure_style(command, f, layout);
}

std::string numbered_file(const std::string& path, std::size_t number) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::size_t point = path.rfind('.');
  const std::size_t at = point == std::string::npos || point <= name ? path.size() : point;
  return concat(path.substr(0, at), "-", number, path.substr(at));
}

FigureOptions numbered(FigureOptions figures, std::size_t number) {
  for (std::string* path : {&figures.png, &figures.svg, &figures.pdf})
    if (!path->empty()) *path = numbered_file(*path, number);
  return figures;
}

draw::FigureStyle figure_style(const FigureOptions& figures, const MapLook& look, const std::string& caption,
                               double top) {
  draw::FigureStyle style = figures.style;
  style.theme = look.theme.value_or(draw::Theme::light);
  style.transfer = look.transfer;
  style.palette = look.palette;
  style.numbers = look.numbers;
  style.caption = figures.caption.value_or(caption);
  style.top = top;
  return style;
}

void reserve_figures(io::Outputs& outputs, const FigureOptions& figures) {
  if (!figures.any()) return;
  draw::FigureStyle style = figures.style;
  const draw::FigureStyle usual;
  if (style.width_mm == 0) style.width_mm = usual.width_mm;
  if (style.font_size == 0) style.font_size = usual.font_size;
  if (style.dpi == 0) style.dpi = usual.dpi;
  draw::check(style);
  for (const std::string* path : {&figures.png, &figures.svg, &figures.pdf})
    if (!path->empty()) outputs.reserve(*path);
}

void write_figures(io::Outputs& outputs, const FigureOptions& figures, const draw::Drawing& drawing,
                   double dpi) {
  if (figures.layout == Layout::fixed) {
    FigureOptions as_drawn = figures;
    as_drawn.layout = Layout::fitted;
    const draw::FigureStyle& style = figures.style;
    const draw::Frame frame{style.width_mm, style.font_size, style.title, figures.caption.value_or("")};
    return write_figures(outputs, as_drawn, draw::framed(drawing, frame), style.dpi > 0 ? style.dpi : dpi);
  }
  const auto write = [&](const std::string& path, draw::PictureFormat format) {
    if (path.empty()) return;
    const std::string bytes = draw::encoded(drawing, format, dpi);
    outputs.write(path, std::as_bytes(std::span(bytes)));
  };
  write(figures.png, draw::PictureFormat::png);
  write(figures.svg, draw::PictureFormat::svg);
  write(figures.pdf, draw::PictureFormat::pdf);
  if (figures.png.empty() && figures.pdf.empty()) return;  // the fonts of an SVG are those of its viewer
  const std::vector<std::string> missing = draw::texts_without_glyphs(drawing);
  if (!missing.empty()) {
    print_error(concat("note: no installed font has all characters of \"", escaped(missing[0], 60), "\"",
                       missing.size() > 1 ? concat(" and ", missing.size() - 1, " more") : "",
                       "; missing ones are drawn as boxes. To fix this, install a font (Debian: "
                       "fonts-noto-cjk, fonts-noto)\n"));
  }
}

}  // namespace headlight::cli
