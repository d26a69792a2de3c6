// Figures that the viewer exports, drawn by the code of `headlight show`: the same options give the same bytes.
#pragma once

#include <string>

#include "serve/api.h"

namespace headlight::cli {

[[nodiscard]] std::string draw_figure(Context& ctx, const serve::Run& run,
                                      const serve::FigureRequest& request);

}  // namespace headlight::cli
