#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cli/numbers.h"
#include "cli/ranks.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::cli {
namespace {

bool g_silent = false;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

ColorDepth depth_of_terminal() {
  const std::string_view colorterm = environment("COLORTERM"), term = environment("TERM");
  if (colorterm == "truecolor" || colorterm == "24bit" || term.find("direct") != std::string_view::npos)
    return ColorDepth::full;
  return ColorDepth::palette;
}

}  // namespace

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      throw BrokenPipe{};
    } else if (errno != EINTR) {
      throw Error(ErrorKind::file, "file.write", concat("standard output: ", io::reason(errno)));
    }
  }
}

std::string printable(std::string_view text) {
  if (!output_is_terminal()) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += escaped(text.substr(0, end), 4 * end + 64);  // room for all bytes: each becomes at most four
    out += text.substr(end, 1);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

void silence_errors(bool silent) noexcept { g_silent = silent; }

void print_error(std::string_view text) noexcept {
  while (!text.empty() && !g_silent) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string program_name() { return environment("HEADLIGHT_RUN_SCRIPT").empty() ? "headlight" : "./run"; }

void add_color(CLI::App& command, Color& color) {
  begin_group(command, "General");
  add_choice<Color>(command, "--color", color,
                    {{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}},
                    "auto: on a terminal, unless NO_COLOR is set");
}

ColorDepth color_depth(Color color) {
  if (color == Color::never) return ColorDepth::none;
  if (color == Color::always) return depth_of_terminal();
  const std::string_view term = environment("TERM");
  if (!environment("NO_COLOR").empty() || !output_is_terminal() || term.empty() || term == "dumb")
    return ColorDepth::none;
  return depth_of_terminal();
}

bool output_is_terminal() noexcept { return ::isatty(STDOUT_FILENO) == 1; }

// An unset locale, C and POSIX say nothing about the terminal, which is usually UTF-8.
bool output_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (locale.empty()) continue;
    const std::size_t dot = locale.find('.');
    if (dot == std::string_view::npos) return true;
    const std::string_view charset = locale.substr(dot + 1, 5);
    return charset.starts_with("UTF") || charset.starts_with("utf");
  }
  return true;
}

int terminal_width() noexcept {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace headlight::cli
