#include "cli/show/files.h"

#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/npy.h"
#include "session/figure_of.h"

namespace headlight::cli {
namespace {

draw::FigureStyle style_of(const ShowSettings& s) {
  draw::FigureStyle style = s.figure;
  style.theme = s.theme.value_or(draw::Theme::light);
  style.transfer = s.transfer;
  style.palette = s.palette;
  style.numbers = s.numbers;
  style.caption = s.caption.value_or("");
  return style;
}

}  // namespace

void write_drawing(io::Outputs& outputs, const ShowSettings& s,
                   const std::function<draw::Drawing(const draw::FigureStyle&)>& make) {
  const draw::FigureStyle style = style_of(s);
  write_figures(outputs, s, make(style), style.dpi);
}

void write_view(io::Outputs& outputs, const session::View& view, const Run& run, const ShowSettings& s) {
  ShowSettings looks = s;
  if (!looks.caption) looks.caption = session::caption_of(run);
  looks.figure.top = session::scale_top(view, s.of, s.auto_range);
  write_drawing(outputs, looks,
                [&](const draw::FigureStyle& style) { return session::figure_of(view, style, s.top); });
}

void write_arrays(const Run& run, std::vector<inspect::NamedArray>& arrays, const ShowSettings& s) {
  if (run.positions() > 0) arrays.push_back({"logits", run.logits()});
  std::error_code problem;
  std::filesystem::create_directories(s.npy, problem);
  if (problem)
    throw Error(ErrorKind::file, "file.create",
                concat(escaped(s.npy), ": ", problem.message(), " (cannot make this folder)"));
  io::Outputs outputs(s.json.force ? io::Existing::replace : io::Existing::refuse);
  const auto path = [&](const inspect::NamedArray& array) {
    return (std::filesystem::path(s.npy) / (array.name + ".npy")).string();
  };
  for (const inspect::NamedArray& array : arrays) outputs.reserve(path(array));
  for (const inspect::NamedArray& array : arrays)
    io::write_npy(outputs, path(array), array.tensor, array.tensor.shape());
  outputs.commit();
}

}  // namespace headlight::cli
