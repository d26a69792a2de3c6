// Runs the program as a user does: a process with arguments, an exit code and two streams.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/places.h"

namespace headlight::testing {

struct Finished {
  int code = -1;  // exit code; -N when signal N ended it, -1000 when it ran into the time limit
  std::string out, err;
  [[nodiscard]] std::string first_error_line() const { return err.substr(0, err.find('\n')); }
};

struct Launch {
  std::vector<std::string> arguments;
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin"};
  std::function<void()> in_child = {};  // after its streams are set up, before the program starts
  int seconds = 300;                    // a hang, not a slow machine
};

// Runs the program at a path.
[[nodiscard]] Finished run_process(const std::string& program, const Launch& launch);

// Runs `headlight`.
[[nodiscard]] inline Finished run_program(const Launch& launch) {
  return run_process(program_path(), launch);
}
[[nodiscard]] inline Finished run_program(std::vector<std::string> arguments) {
  return run_program(Launch{.arguments = std::move(arguments)});
}

}  // namespace headlight::testing
