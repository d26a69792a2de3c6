#include "cli/standard_input.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "cli/ranks.h"
#include "core/concat.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;
constexpr std::size_t kLongestLine = std::size_t{1} << 24;

// Appends the available input to the text; false at the end of input.
bool read_own_piece(std::string& text) {
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const ssize_t count = ::read(STDIN_FILENO, text.data() + before, kPiece);
    text.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count >= 0) return count > 0;
    if (errno != EINTR)
      throw Error(ErrorKind::file, "file.read", concat("standard input: ", io::reason(errno)));
  }
}
bool read_piece(std::string& text) {
  if (team() != nullptr) {  // mpirun gives standard input to rank 0
    std::string piece;
    if (team()->rank() == 0) (void)read_own_piece(piece);
    piece = of_rank_0(std::move(piece));
    text += piece;
    return !piece.empty();
  }
  return read_own_piece(text);
}

[[noreturn]] void refuse_size(std::string_view what, std::size_t limit) {
  throw Error(ErrorKind::input, "input.size", concat("standard input: ", what, " than ", limit, " bytes"));
}

}  // namespace

std::string read_standard_input(std::size_t limit) {
  std::string text;
  while (read_piece(text))
    if (text.size() > limit) refuse_size("more", limit);
  return text;
}

bool StandardLines::read(std::vector<std::string>& lines) {
  lines.clear();
  while (lines.empty() && !ended_) {
    ended_ = !read_piece(rest_);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      lines.push_back(rest_.substr(begin, end - begin));
    rest_.erase(0, begin);
    if (rest_.size() > kLongestLine) refuse_size("a line of more", kLongestLine);
    if (ended_ && !rest_.empty()) lines.push_back(std::move(rest_));
  }
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  return !lines.empty();
}

bool input_is_piped() {
  struct stat status {};
  const bool piped =
      ::fstat(STDIN_FILENO, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode));
  return of_rank_0(piped ? "yes" : "no") == "yes";
}

}  // namespace headlight::cli
