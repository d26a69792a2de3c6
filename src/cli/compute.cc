#include "cli/commands.h"

namespace headlight::cli {
void add_compute(CLI::App& program) {
  add_command(
      program,
      {.name = "compute", .what = "Attention of .npy files", .usage = "headlight compute", .examples = ""});
}
}  // namespace headlight::cli
