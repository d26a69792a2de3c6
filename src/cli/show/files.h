// What `headlight show` writes into files: figures, JSON, arrays.
#pragma once

#include <functional>
#include <string>

#include "cli/show/settings.h"
#include "draw/drawing.h"
#include "io/outputs.h"
#include "session/view.h"

namespace headlight::cli {

// A figure in every format asked for, in the look and with the caption of the settings. Notes go to standard error.
void write_drawing(io::Outputs& outputs, const ShowSettings& settings,
                   const std::function<draw::Drawing(const draw::FigureStyle&)>& make);

// The figure of a view, in every format asked for. Notes go to standard error.
void write_view(io::Outputs& outputs, const session::View& view, const Run& run,
                const ShowSettings& settings);

// logits.npy and what else was asked for, into the folder.
void write_arrays(const Run& run, std::vector<inspect::NamedArray>& arrays, const ShowSettings& settings);

}  // namespace headlight::cli
