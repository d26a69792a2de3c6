// The program around the commands: reads the command line, turns every failure into one message
// and one exit code (1 a wrong answer, 2 usage, 3 input, 4 file, 5 resource, 6 numeric, 7 peer), and never aborts.
#pragma once

#include <string>
#include <string_view>

#include "headlight/error.h"

namespace headlight::cli {

class Processes;  // cli/ranks.h

// Never throws. argv[0] is the program. `processes`: the team of headlight-mpi.
[[nodiscard]] int run(int argc, const char* const* argv, Processes* processes = nullptr) noexcept;

// Exit codes; scripts rely on these numbers.
[[nodiscard]] constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return 2;
    case ErrorKind::input: return 3;
    case ErrorKind::file: return 4;
    case ErrorKind::resource: return 5;
    case ErrorKind::numeric: return 6;
    case ErrorKind::peer: return 7;
  }
  return 1;
}

// Thrown by a command that stopped cleanly after a signal: exit code 128 + signal, without a message.
struct Stopped {
  int signal;
};

// Thrown by a command that has already printed its message, such as a wrong answer.
struct Ended {
  int code;
};

// "error: FILE: WHAT (WHERE)\n"; the first line has at most 300 bytes, further lines of the
// message follow as indented hints.
[[nodiscard]] std::string error_text(std::string_view message);

}  // namespace headlight::cli
