// Where models with a name are looked for.
#pragma once

#include <string>
#include <vector>

namespace headlight::cli {

// $HEADLIGHT_MODELS, then "models" here, beside the program's source and where it was installed.
[[nodiscard]] std::vector<std::string> model_places();

// The name of the translator that comes with Headlight, as it is called in one of the places.
[[nodiscard]] std::string default_translator(const std::vector<std::string>& places);

}  // namespace headlight::cli
