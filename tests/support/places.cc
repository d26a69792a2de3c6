#include "support/places.h"

namespace headlight::testing {

std::string source_folder() { return HEADLIGHT_SOURCE; }
std::string program_path() { return HEADLIGHT_PROGRAM; }

}  // namespace headlight::testing
