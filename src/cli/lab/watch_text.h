// One moment of a run as text: numbers, every head's map, and the model's answers.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal.h"
#include "playground/toy_run.h"

namespace headlight::cli {

[[nodiscard]] std::string status_line(const playground::ToySettings& settings,
                                      const playground::ToyFrame& frame);
// The maps of all heads and the answers to the probe.
[[nodiscard]] std::string look_text(const playground::ToyRun& run, const playground::ToyCase& probe,
                                    const playground::ToyLook& look, Color color);

}  // namespace headlight::cli
