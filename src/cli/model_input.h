// Options of several commands: the text for a model, and its heads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "headlight/run.h"

namespace headlight::cli {

struct InputOptions {
  std::string text, target;
  std::string second;  // for encoders that read two texts
  std::vector<std::int32_t> ids, target_ids, type_ids;
  std::string features;  // a .npy file, for models that read sound
  std::string model = "en-fr";
  [[nodiscard]] bool given() const { return !text.empty() || !ids.empty() || !features.empty(); }
};

// Adds TEXT, --model, --second, --target, --ids, --target-ids, --type-ids, --features.
void add_model_input(CLI::App& command, InputOptions& input, const std::string& text_description);
void add_model(CLI::App& command, std::string& model);
// The same for several models: --model is repeatable, and --adapter applies to a single one.
struct ModelList {
  std::vector<std::string> names;
  std::string adapter;
  [[nodiscard]] bool given() const { return !names.empty() || !adapter.empty(); }
  // `usual` if no model is given. Throws Error{usage} for an adapter with several models.
  [[nodiscard]] std::vector<std::string> all(const std::string& usual) const;
};
void add_models(CLI::App& command, ModelList& models);
// For commands about files, whose argument names the model: adds --model as a synonym, as in all other commands.
void add_model_or(CLI::App& command, const std::string& argument, std::string& model,
                  const std::string& description);
// "5,17,3": token ids, for example.
void add_numbers(CLI::App& command, const std::string& name, std::vector<std::int32_t>& list,
                 const std::string& description);
void add_part(CLI::App& command, std::optional<Part>& part);
// --head L.H, several with commas.
void add_heads(CLI::App& command, std::vector<HeadPlace>& heads, const std::string& name = "--head",
               const std::string& description = "Heads: LAYER.HEAD from 0, comma-separated");
// "5,17,3" as its parts.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text);

// Opens a model by path, or by name in the model folders.
[[nodiscard]] Model open_model(const std::string& name, bool recurrent_too = false);
// The model's input: TEXT, piped text, or a sample sentence. Refuses input that the model does not accept.
[[nodiscard]] Prompt prompt_of(const Model& model, const InputOptions& input);
// An encoder alone needs no translation.
[[nodiscard]] AttendOptions attend_to(Part part);

// Refuse layers and heads that the model does not have, with the valid range.
[[nodiscard]] Part chosen_part(const Model& model, const std::optional<Part>& part);
void check_part(const Model& model, Part part);
void check_layer(const Model& model, Part part, Index layer);
void check_head(const Model& model, Part part, const HeadPlace& place);

// One text per line of a file, plain or .gz, or of standard input ("-"); or documents, if "<|endoftext|>" separates
// them. Throws Error{input} if there is none. `limit` > 0: only the first `limit`.
[[nodiscard]] std::vector<std::string> read_corpus(const std::string& path, Index limit);
// All of a file, plain or .gz, or of standard input ("-"), as UTF-8.
[[nodiscard]] std::string read_text_file(const std::string& path);

// Tokens as their labels.
[[nodiscard]] std::vector<std::string> labels_of(const TokenizedText& text);
// Selects words by name; ambiguities are added to the notes.
[[nodiscard]] Range picked(const TokenizedText& text, const std::string& words,
                           std::vector<std::string>& notes);
[[nodiscard]] std::string row_axis(Part part);
[[nodiscard]] std::string place_text(const HeadPlace& place);  // "2.5"

// "note: …" on standard error, one line each.
void print_notes(const std::vector<std::string>& notes);

}  // namespace headlight::cli
