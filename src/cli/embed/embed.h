// headlight embed
#pragma once

#include "cli/commands.h"

namespace headlight::cli {

void add_embed(CLI::App& program);

}  // namespace headlight::cli
