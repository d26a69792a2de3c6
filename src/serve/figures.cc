#include "serve/figures.h"

#include <cmath>

#include "io/npy.h"
#include "serve/view_json.h"
#include "session/figure_of.h"
#include "session/state.h"

namespace headlight::serve {
namespace {

std::string npy_of(const session::View& view, const ViewRequest& request) {
  inspect::AttentionMap map = view.numbers.front();
  // Hidden cells: a weight of 0, a score of -inf; excluded cells are NaN.
  const bool left_out = session::leaves_out(request);
  if (left_out || request.of == MapOf::scores)
    for (std::size_t i = 0; i < map.visible.size(); ++i)
      if (map.visible[i] == 0) map.weights[i] = left_out ? NAN : -INFINITY;
  std::string bytes = io::npy_header(DType::f32, {map.rows, map.columns});
  return bytes.append(reinterpret_cast<const char*>(map.weights.data()), 4 * map.weights.size());
}

FigureFormat picture_of(FileForm form) {
  return form == FileForm::svg   ? FigureFormat::svg
         : form == FileForm::pdf ? FigureFormat::pdf
                                 : FigureFormat::png;
}

// Runs only the encoder, which is enough for parts that need no translation.
Run without_target(const Run& run) {
  auto state = std::make_shared<RunState>(run.model());
  state->input = {.source = run.state().input.source, .types = run.state().input.types};
  state->source = run.source();
  return Run(std::move(state));
}

}  // namespace

std::string file_of(Context& ctx, const Run& run, const FileRequest& request, bool written,
                    const Progress& progress) {
  const Run shown = request.part() == Part::encoder && !written ? without_target(run) : run;
  ViewRequest what = request.view;
  if (what.rollout) what.heads.clear();  // rollout uses all heads
  if (request.form == FileForm::json || request.form == FileForm::npy) {
    ViewRequest exact = what;
    exact.every_weight = true;
    const session::View view = session::make_view(ctx, run, exact, progress);
    return request.form == FileForm::json ? view_json(view, shown) : npy_of(view, exact);
  }
  return figure(run,
                {.view = what,
                 .format = picture_of(request.form),
                 .look = request.look,
                 .caption = session::caption_of(shown),
                 .progress = progress},
                ctx);
}

std::string_view name_of(FileForm form) noexcept {
  switch (form) {
    case FileForm::png: return "png";
    case FileForm::svg: return "svg";
    case FileForm::pdf: return "pdf";
    case FileForm::json: return "json";
    case FileForm::npy: return "npy";
  }
  return "png";
}

std::string_view media_type(FileForm form) noexcept {
  switch (form) {
    case FileForm::png: return "image/png";
    case FileForm::svg: return "image/svg+xml";
    case FileForm::pdf: return "application/pdf";
    case FileForm::json: return "application/json";
    case FileForm::npy: return "application/octet-stream";
  }
  return "application/octet-stream";
}

}  // namespace headlight::serve
