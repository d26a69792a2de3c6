// headlight chat
#pragma once

#include "cli/commands.h"

namespace headlight::cli {

void add_chat(CLI::App& program);

}  // namespace headlight::cli
