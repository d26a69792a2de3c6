#include "cli/serve_figures.h"

#include <cmath>

#include "cli/show_files.h"
#include "io/npy.h"

namespace headlight::cli {

std::string draw_figure(Context& ctx, const serve::Run& run, const serve::FigureRequest& request) {
  ShowSettings settings;
  settings.part = request.part;
  settings.heads = {{static_cast<int>(request.layer), static_cast<int>(request.head)}};
  settings.from = request.from;
  settings.to = request.to;
  settings.theme = request.theme;
  settings.transfer = request.transfer;
  settings.palette = request.palette;
  settings.auto_range = request.auto_range;
  settings.of = request.of;
  settings.words = request.words;
  settings.mute_first = request.mute_first;
  settings.mute_special = request.mute_special;
  settings.renormalize = request.renormalize;
  const bool is_data = request.format == "json" || request.format == "npy";
  if (is_data) settings.json.path = std::string(1, '-');  // every weight, however many there are
  // The command translates only when its part needs it, and its caption says so.
  inspect::Question question = run.question;
  if (request.part == Part::encoder && run.request.target.empty()) question.written = {};
  const View view = make_view(ctx, *run.subject, question, settings);
  if (request.format == "json") return view_json(view, *run.subject, question);
  if (request.format == "npy") {
    inspect::AttentionMap map = view.numbers.front();
    // What cannot be seen: a weight of 0, a score of -inf; what was left out is no number.
    if (leaves_out(settings) || request.of == inspect::MapOf::scores)
      for (std::size_t i = 0; i < map.visible.size(); ++i)
        if (map.visible[i] == 0) map.weights[i] = leaves_out(settings) ? NAN : -INFINITY;
    std::string bytes = io::npy_header(DType::f32, {map.rows, map.columns});
    return bytes.append(reinterpret_cast<const char*>(map.weights.data()), 4 * map.weights.size());
  }
  const draw::PictureFormat format = request.format == "png"   ? draw::PictureFormat::png
                                     : request.format == "svg" ? draw::PictureFormat::svg
                                                               : draw::PictureFormat::pdf;
  return figure_bytes(view, *run.subject, question, settings, format);
}

}  // namespace headlight::cli
