// What a model is given to read, and which of its heads is meant: options that several commands have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "headlight/run.h"
#include "inspect/recorder.h"
#include "inspect/subject.h"

namespace headlight::cli {

struct ModelInput {
  std::string text, target;
  std::string second;  // for encoders that read two texts
  std::vector<std::int32_t> ids, target_ids, type_ids;
  std::string model = "en-fr";
};

// Adds TEXT, --model, --second, --target, --ids, --target-ids, --type-ids.
void add_model_input(CLI::App& command, ModelInput& input, const std::string& text_description);
void add_model(CLI::App& command, std::string& model);
void add_part(CLI::App& command, std::optional<Part>& part);
// --head L.H, several with commas.
void add_heads(CLI::App& command, std::vector<inspect::HeadPlace>& heads, const std::string& name = "--head",
               const std::string& description = "Heads as LAYER.HEAD from 0, several with commas");
// "5,17,3" as its parts.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text);

// The text is the argument, what was piped, or a sentence of our own. An encoder-decoder gets a target when one was
// given, and translates when somebody `needs` one.
enum class Needs : std::uint8_t { source, target };
[[nodiscard]] inspect::Question read_question(Context& ctx, const inspect::Subject& subject,
                                              const ModelInput& input, Needs needs);

// By path, or by name where models are looked for.
[[nodiscard]] Model open_model(const std::string& name);

// Refuse, with the range, what the model does not have.
void check_part(const inspect::Subject& subject, Part part);
void check_layer(const inspect::Subject& subject, Part part, Index layer);
void check_head(const inspect::Subject& subject, Part part, const inspect::HeadPlace& place);

// Rows and columns of a part: who looks, and at what.
struct Sides {
  inspect::Reading queries, keys;
  std::string row_axis = "query (from)";
};
[[nodiscard]] Sides sides_of(const inspect::Subject& subject, const inspect::Question& question, Part part);

}  // namespace headlight::cli
