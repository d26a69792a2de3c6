// Folders that are searched for models by name.
#pragma once

#include <string>
#include <vector>

namespace headlight::cli {

// $HEADLIGHT_MODELS, then "models" here, beside the program's source and where it was installed.
[[nodiscard]] std::vector<std::string> model_places();

// What PATH means in commands about files: a file or folder as it is, with the snapshot of a Hugging Face cache folder in
// its place; else the model of that name.
[[nodiscard]] std::string find_files(const std::string& name);

}  // namespace headlight::cli
