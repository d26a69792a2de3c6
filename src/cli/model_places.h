// Folders that are searched for models by name.
#pragma once

#include <string>
#include <vector>

namespace headlight::cli {

// $HEADLIGHT_MODELS, then "models" in the working folder, in the source tree and in the installation.
[[nodiscard]] std::vector<std::string> model_places();

// Resolves PATH in commands about files: an existing file or folder (for a Hugging Face cache folder, its snapshot), else
// the model of that name.
[[nodiscard]] std::string find_files(const std::string& name);

}  // namespace headlight::cli
