// Standard input as one text.
#pragma once

#include <cstddef>
#include <string>

namespace headlight::cli {

// Throws Error: input above `limit` bytes, file when it cannot be read. Closed input is empty.
[[nodiscard]] std::string read_standard_input(std::size_t limit = std::size_t{1} << 30);

}  // namespace headlight::cli
