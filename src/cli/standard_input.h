// Standard input as one text, or line by line.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headlight::cli {

// Throws Error: input above `limit` bytes, file when it cannot be read. Closed input is empty.
[[nodiscard]] std::string read_standard_input(std::size_t limit = std::size_t{1} << 30);

// Lines as soon as they arrive: a typed line is answered at once, a file is read in large blocks.
class StandardLines {
 public:
  // Waits for a line and also returns further lines that have already arrived, without line ends.
  // False at the end of input.
  [[nodiscard]] bool read(std::vector<std::string>& lines);

 private:
  std::string rest_;
  bool ended_ = false;
};

// A pipe or a file at standard input; not a terminal, a device or nothing.
[[nodiscard]] bool input_is_piped();

}  // namespace headlight::cli
