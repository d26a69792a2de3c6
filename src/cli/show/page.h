// `headlight show` and the viewer: the page as a file, and the command that opens the same view.
#pragma once

#include <string>

#include "cli/show/settings.h"
#include "io/outputs.h"
#include "session/view.h"

namespace headlight::cli {

struct Shown {
  const Run& run;
  const ShowSettings& settings;
};

// Writes settings.html and prints its size.
void write_page(io::Outputs& outputs, Context& ctx, const session::View& view, const Shown& shown);

// headlight serve --model … --at …
[[nodiscard]] std::string serve_command(const session::View& view, const Shown& shown);

}  // namespace headlight::cli
