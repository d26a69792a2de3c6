// Sampling options of generate and chat.
#pragma once

#include "cli/commands.h"
#include "headlight/run.h"
#include "headlight/write.h"

namespace headlight::cli {

struct SamplingSettings {
  GenerateOptions options = {};
  bool rules_given = false;  // a rule that generation_config.json could set as well
};
// Adds --max-tokens, --temperature, --top-k, --top-p, --min-p, --repetition-penalty, --seed and --stop.
void add_sampling(CLI::App& command, SamplingSettings& settings);
// Throws Error{usage} for invalid rules.
void check_sampling(const SamplingSettings& settings);
// Adds the sampling options of the model's files, unless given on the command line; a note lists them.
[[nodiscard]] GenerateOptions options_for(const Model& model, const SamplingSettings& settings);

}  // namespace headlight::cli
