// What `headlight show` writes into files: figures, JSON, arrays.
#pragma once

#include <functional>
#include <string>

#include "cli/show_view.h"
#include "draw/drawing.h"
#include "io/json_writer.h"
#include "io/outputs.h"

namespace headlight::cli {

// A figure in every format asked for, in the look and with the caption of the settings. Notes go to standard error.
void write_drawing(io::Outputs& outputs, const ShowSettings& settings,
                   const std::function<draw::Drawing(const draw::FigureStyle&)>& make);

// The figure of a view, in every format asked for. Notes go to standard error.
void write_figures(io::Outputs& outputs, const View& view, const inspect::Subject& subject,
                   const inspect::Question& question, const ShowSettings& settings);

// The same figure as bytes.
[[nodiscard]] std::string figure_bytes(const View& view, const inspect::Subject& subject,
                                       const inspect::Question& question, const ShowSettings& settings,
                                       draw::PictureFormat format);

// All weights, a row on each line; null where a query cannot see a key.
void write_weights(io::JsonWriter& w, const draw::WeightMap& map);
[[nodiscard]] std::string view_json(const View& view, const inspect::Subject& subject,
                                    const inspect::Question& question);

// Runs the model once more and writes logits.npy and what else was asked for into the folder.
void write_arrays(Context& ctx, const inspect::Subject& subject, const inspect::Question& question,
                  const ShowSettings& settings);

}  // namespace headlight::cli
