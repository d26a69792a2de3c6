#include "headlight/figure.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "session/figure_of.h"
#include "session/state.h"

namespace headlight {
namespace session {
namespace {

constexpr std::size_t kPanels = 4;  // with more maps than this, they are drawn small

}  // namespace

draw::Drawing figure_of(const View& view, const draw::FigureStyle& style, Index bars) {
  switch (view.kind) {
    case ViewKind::bars:
      if (view.maps.size() == 1) return draw::bars_figure(view.maps[0], style, bars);
      break;
    case ViewKind::atlas:
      if (view.maps.size() > kPanels) return draw::atlas_figure(view.maps, view.in_row, style);
      break;
    case ViewKind::maps: break;
    case ViewKind::tops:
      throw Error(ErrorKind::usage, "show.figure",
                  "--by-head lists words and has no figure; leave it out, or give --head L.H");
  }
  return draw::heat_map_figure(view.maps, style);
}

std::string caption_of(const Run& run) {
  constexpr std::size_t most = 240;
  const auto quoted = [&](const std::string& text) {
    return text.empty() ? "" : concat("“", escaped(text, most), "” ");
  };
  const std::string target = quoted(run.target().text);
  return concat(quoted(run.source().text), target.empty() ? "" : "→ ", target, "Model ",
                escaped(run.model().info().name), ".");
}

draw::FigureStyle style_of(const FigureLook& look, double top) {
  draw::FigureStyle style;
  style.width_mm = look.width_mm;
  style.font_size = look.font_size;
  style.dpi = look.dpi;
  style.theme = look.theme;
  style.transfer = look.transfer;
  style.palette = look.palette;
  style.numbers = look.numbers;
  style.top = top;
  return style;
}

}  // namespace session

std::string figure(const Run& run, const FigureRequest& request, Context& ctx) {
  const session::View view = session::make_view(ctx, run, request.view, request.progress);
  draw::FigureStyle style =
      session::style_of(request.look, session::scale_top(view, request.view.of, request.look.auto_range));
  style.caption = request.caption ? *request.caption : session::caption_of(run);
  return draw::encoded(session::figure_of(view, style, request.bars), request.format, style.dpi);
}

}  // namespace headlight
