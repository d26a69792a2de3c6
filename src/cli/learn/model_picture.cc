#include "cli/learn/model_picture.h"

#include <string>

#include "cli/model_input.h"
#include "session/figure_of.h"
#include "session/view.h"

namespace headlight::cli {

draw::Drawing model_picture(const learn::ModelPicture& wanted) {
  constexpr double kWidth = 85;  // millimetres
  const Model model = open_model(std::string(wanted.model));
  Context ctx({.threads = 1});
  const Run run = attend(ctx, model, {.text = std::string(wanted.text)}, attend_to(Part::cross));
  const ViewRequest request{.part = Part::cross, .heads = {{wanted.layer, wanted.head}}};
  const session::View view = session::make_view(ctx, run, request);
  draw::FigureStyle style =
      session::style_of({.width_mm = kWidth}, session::scale_top(view, MapOf::weights, false));
  style.caption = session::caption_of(run);
  return session::figure_of(view, style, 0);
}

}  // namespace headlight::cli
