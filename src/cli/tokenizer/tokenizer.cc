// headlight tokenizer: trains a tokenizer and shows its results.
#include <CLI/App.hpp>

#include "cli/commands.h"
#include "cli/tokenizer/commands.h"

namespace headlight::cli {

void add_tokenizer(CLI::App& program) {
  CLI::App* command = add_command(
      program, {.name = "tokenizer",
                .what = "Train a tokenizer, and encode or decode text with it",
                .usage = "headlight tokenizer train|encode|decode [options]",
                .examples = "  headlight tokenizer train --vocab 8000 stories.txt -o my-tokenizer\n"
                            "  headlight tokenizer encode --tokenizer my-tokenizer \"Once upon a time\"\n"
                            "  headlight tokenizer decode --tokenizer my-tokenizer 409 712 257\n"});
  command->require_subcommand(1);
  add_tokenizer_train(*command);
  add_tokenizer_encode(*command);
  add_tokenizer_decode(*command);
}

}  // namespace headlight::cli
