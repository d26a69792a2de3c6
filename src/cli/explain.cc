#include "cli/commands.h"

namespace headlight::cli {
void add_explain(CLI::App& program) {
  add_command(program,
              {.name = "explain", .what = "A worked example", .usage = "headlight explain", .examples = ""});
}
}  // namespace headlight::cli
