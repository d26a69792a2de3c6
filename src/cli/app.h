// The program around the commands: reads the command line, turns every failure into one message
// and one exit code (1 a wrong answer, 2 usage, 3 input, 4 file, 5 resource, 6 numeric, 7 peer), and never aborts.
#pragma once

#include <string>
#include <string_view>

namespace headlight::cli {

// Never throws. argv[0] is the program.
[[nodiscard]] int run(int argc, const char* const* argv) noexcept;

// Thrown by a command that a signal ended in good order: exit code 128 + signal, nothing more to say.
struct Stopped {
  int signal;
};

// Thrown by a command that has said everything already, such as that an answer is wrong.
struct Ended {
  int code;
};

// "error: FILE: WHAT (WHERE)\n", at most 300 bytes up to the first line's end; further lines of the
// message follow as hints, indented.
[[nodiscard]] std::string error_text(std::string_view message);

}  // namespace headlight::cli
