// The files that a figure is written into: options that several commands have.
#pragma once

#include <string>

#include "cli/commands.h"
#include "draw/drawing.h"
#include "io/outputs.h"

namespace headlight::cli {

struct FigureFiles {
  std::string png, svg, pdf;
  [[nodiscard]] bool has_figure() const { return !png.empty() || !svg.empty() || !pdf.empty(); }
};

// Adds --png, --svg and --pdf.
void add_figure_files(CLI::App& command, FigureFiles& files);

void reserve_figures(io::Outputs& outputs, const FigureFiles& files);
// The drawing in every format asked for. A note goes to standard error when no font has some of its characters.
void write_figures(io::Outputs& outputs, const FigureFiles& files, const draw::Drawing& drawing, double dpi);

}  // namespace headlight::cli
