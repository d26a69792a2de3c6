// Where `headlight show` meets the viewer: the page as a file, and the command that opens the same view.
#pragma once

#include <memory>
#include <string>

#include "cli/show_view.h"
#include "io/outputs.h"

namespace headlight::cli {

struct Shown {
  std::shared_ptr<const inspect::Subject> subject;
  const inspect::Question& question;
  const ShowSettings& settings;
};

// Writes settings.html and says how large it is.
void write_page(io::Outputs& outputs, Context& ctx, const View& view, const Shown& shown);

// headlight serve --model … --at …
[[nodiscard]] std::string serve_command(const View& view, const Shown& shown);

}  // namespace headlight::cli
