// Where this checkout and its program are. One file knows the paths, so that all others compile to the same objects in every
// checkout and the compiler cache finds them.
#pragma once

#include <string>

namespace headlight::testing {

// The folder with README.md.
[[nodiscard]] std::string source_folder();
// The program `headlight` that was built with these tests; empty when it was not built.
[[nodiscard]] std::string program_path();

}  // namespace headlight::testing
