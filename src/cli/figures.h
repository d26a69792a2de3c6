// Figures of a command: files, style, title and caption.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/map_look.h"
#include "draw/drawing.h"
#include "draw/figure_style.h"
#include "io/outputs.h"

namespace headlight::cli {

// Maps are laid out for a width and a font size; other drawings are scaled as a whole.
enum class Layout { fitted, fixed };

struct FigureOptions {
  std::string png, svg, pdf;
  draw::FigureStyle style;  // size, font size, title; 0 for a fixed layout: unscaled
  Layout layout = Layout::fitted;
  std::optional<std::string> caption;  // none: the default of the command
  [[nodiscard]] bool any() const { return !png.empty() || !svg.empty() || !pdf.empty(); }
};

// Adds --png, --svg and --pdf; `--pdf` alone writes `usual_pdf`, if there is one.
void add_figure_files(CLI::App& command, FigureOptions& figures, const std::string& usual_pdf = "");
// Adds --width, --font-size, --dpi, --title and --caption.
void add_figure_style(CLI::App& command, FigureOptions& figures, Layout layout);
// Adds both.
void add_figures(CLI::App& command, FigureOptions& figures, Layout layout = Layout::fitted);
// "85mm", "8.5cm", "3.3in"; a number without a unit is in the first unit.
void add_length(CLI::App& command, const std::string& name, double& value,
                const std::vector<std::pair<std::string_view, double>>& units,
                const std::string& description);

// figure.png as figure-3.png, for the third of several texts.
[[nodiscard]] std::string numbered_file(const std::string& path, std::size_t number);
[[nodiscard]] FigureOptions numbered(FigureOptions figures, std::size_t number);

// The style of a figure: sizes from the options, colours from the look. `top` is the end of the scale.
[[nodiscard]] draw::FigureStyle figure_style(const FigureOptions& figures, const MapLook& look,
                                             const std::string& caption, double top = 1);

// Refuses invalid sizes and files that cannot be written, before any work is done.
void reserve_figures(io::Outputs& outputs, const FigureOptions& figures);
// Writes the drawing in every requested format, one of fixed layout with the sizes and words of the options; with a note on standard error if no font has some of its characters.
void write_figures(io::Outputs& outputs, const FigureOptions& figures, const draw::Drawing& drawing,
                   double dpi);

}  // namespace headlight::cli
