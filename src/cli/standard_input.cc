#include "cli/standard_input.h"

#include <unistd.h>

#include <cerrno>

#include "core/concat.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::cli {

std::string read_standard_input(std::size_t limit) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const ssize_t count = ::read(STDIN_FILENO, text.data() + before, kPiece);
    text.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count == 0) return text;
    if (count < 0 && errno != EINTR)
      throw Error(ErrorKind::file, "file.read", concat("standard input: ", io::reason(errno)));
    if (text.size() > limit)
      throw Error(ErrorKind::input, "input.size", concat("standard input: more than ", limit, " bytes"));
  }
}

}  // namespace headlight::cli
