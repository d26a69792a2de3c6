// Where models with a name are looked for.
#pragma once

#include <string>
#include <vector>

namespace headlight::cli {

// $HEADLIGHT_MODELS, then "models" here, beside the program's source and where it was installed.
[[nodiscard]] std::vector<std::string> model_places();

}  // namespace headlight::cli
