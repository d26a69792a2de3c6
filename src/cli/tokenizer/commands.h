// The parts of `headlight tokenizer`.
#pragma once

#include "cli/commands.h"

namespace headlight::cli {

void add_tokenizer_train(CLI::App& tokenizer);
void add_tokenizer_encode(CLI::App& tokenizer);
void add_tokenizer_decode(CLI::App& tokenizer);

}  // namespace headlight::cli
