// From a view to a drawing: shared by figure() and the command line, which writes several formats of one drawing.
#pragma once

#include <string>

#include "draw/figures.h"
#include "session/view.h"

namespace headlight::session {

// `bars` > 0: only the largest weights of one query.
[[nodiscard]] draw::Drawing figure_of(const View& view, const draw::FigureStyle& style, Index bars);
// The text, its translation and the model's name.
[[nodiscard]] std::string caption_of(const Run& run);
[[nodiscard]] draw::FigureStyle style_of(const FigureLook& look, double top);

}  // namespace headlight::session
