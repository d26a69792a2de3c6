#include "cli/figure_files.h"

#include <span>

#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"

namespace headlight::cli {

void add_figure_files(CLI::App& command, FigureFiles& files) {
  add_path(command, "--png", files.png, "Draw a figure");
  add_path(command, "--svg", files.svg, "Draw a figure");
  add_path(command, "--pdf", files.pdf, "Draw a figure");
}

void reserve_figures(io::Outputs& outputs, const FigureFiles& files) {
  for (const std::string* path : {&files.png, &files.svg, &files.pdf})
    if (!path->empty()) outputs.reserve(*path);
}

void write_figures(io::Outputs& outputs, const FigureFiles& files, const draw::Drawing& drawing, double dpi) {
  const auto write = [&](const std::string& path, draw::PictureFormat format) {
    if (path.empty()) return;
    const std::string bytes = draw::encoded(drawing, format, dpi);
    outputs.write(path, std::as_bytes(std::span(bytes)));
  };
  write(files.png, draw::PictureFormat::png);
  write(files.svg, draw::PictureFormat::svg);
  write(files.pdf, draw::PictureFormat::pdf);
  if (files.png.empty() && files.pdf.empty()) return;  // an SVG's words are drawn where it is looked at
  const std::vector<std::string> missing = draw::texts_without_glyphs(drawing);
  if (!missing.empty()) {
    print_error(concat("note: no font of this machine has all characters of \"", escaped(missing[0], 60),
                       "\"", missing.size() > 1 ? concat(" and ", missing.size() - 1, " more") : "",
                       "; they are drawn as boxes (Debian: fonts-noto-cjk and others)\n"));
  }
}

}  // namespace headlight::cli
