// Options for the data of a command: JSON to standard output or a file, arrays to a folder. The same in every
// command.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "draw/weight_map.h"
#include "headlight/run.h"
#include "io/outputs.h"

namespace headlight::cli {

struct JsonTarget {
  std::string path;    // empty: no JSON; "-": standard output, which then contains nothing else
  bool force = false;  // existing files are replaced: JSON, arrays and figures
  [[nodiscard]] bool to_stdout() const { return path == "-"; }
  [[nodiscard]] io::Existing existing() const { return force ? io::Existing::replace : io::Existing::refuse; }
};

// Adds --json and --force. `--json` alone means standard output, like `--json -`; a file name must end in .json, so that
// no text is mistaken for one.
inline constexpr const char* kForce = "Replace existing files (otherwise exit code 4)";
void add_json(CLI::App& command, JsonTarget& target, const char* force = kForce);
[[nodiscard]] bool is_json_target(std::string_view text) noexcept;
// Adds --npy FOLDER.
void add_arrays(CLI::App& command, std::string& folder, const std::string& what);

class JsonOutput {
 public:
  // Refuses a file that could not be written, before any work is done.
  explicit JsonOutput(const JsonTarget& target);
  void write(const std::string& json);

 private:
  const JsonTarget& target_;
  io::Outputs outputs_;
};

struct NamedTensor {
  std::string name;  // of the file, without .npy
  Tensor tensor;
};
// NAME.npy for each array, and tokens.json. No folder: nothing.
void write_arrays(const std::string& folder, const JsonTarget& target, const std::vector<NamedTensor>& arrays,
                  const std::string& tokens_json);
// {"model": …, "source": [{"id": …, "text": …, …}, …], …}
struct TokenList {
  std::string name;
  const TokenizedText& text;
};
[[nodiscard]] std::string tokens_json(const std::string& model, const std::vector<TokenList>& lists);
// The texts of a run: its source, and for encoder-decoders also the target.
[[nodiscard]] std::vector<TokenList> token_lists(const Run& run);
[[nodiscard]] Tensor matrix_of(const draw::WeightMap& map);

}  // namespace headlight::cli
