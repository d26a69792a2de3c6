#include "cli/lab/watch_keys.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <optional>

namespace headlight::cli {

struct KeyReader::Mode {
  termios terminal{};
};

std::vector<WatchKey> parse_keys(std::string_view bytes) {
  std::vector<WatchKey> keys;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool escape =
        bytes[i] == '\x1b' && i + 2 < bytes.size() && (bytes[i + 1] == '[' || bytes[i + 1] == 'O');
    const char c = escape ? bytes[i + 2] : bytes[i];
    if (escape) {
      i += 2;
      if (c == 'D') keys.push_back(WatchKey::back);
      if (c == 'C') keys.push_back(WatchKey::forward);
      continue;
    }
    switch (c) {
      case ' ':
      case 'p': keys.push_back(WatchKey::pause); break;
      case 's':
      case '.': keys.push_back(WatchKey::step); break;
      case 'h': keys.push_back(WatchKey::back); break;
      case 'l': keys.push_back(WatchKey::forward); break;
      case 'k': keys.push_back(WatchKey::remove); break;
      case 'q':
      case '\r':
      case '\n': keys.push_back(WatchKey::stop); break;
      default: break;
    }
  }
  return keys;
}

KeyReader::KeyReader(bool wanted) {
  termios now{};
  if (!wanted || isatty(STDIN_FILENO) == 0 || tcgetattr(STDIN_FILENO, &now) != 0) return;
  before_ = std::make_unique<Mode>(Mode{now});
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  now.c_cc[VMIN] = 0;
  now.c_cc[VTIME] = 0;
  if (tcsetattr(STDIN_FILENO, TCSANOW, &now) != 0) before_ = nullptr;
}

KeyReader::~KeyReader() {
  if (before_ != nullptr) (void)tcsetattr(STDIN_FILENO, TCSANOW, &before_->terminal);
}

std::vector<WatchKey> KeyReader::read(std::chrono::milliseconds wait) {
  if (!listens()) return {};
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (poll(&input, 1, static_cast<int>(wait.count())) <= 0) return {};
  char bytes[64];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (got == 0 || (input.revents & (POLLHUP | POLLERR)) != 0)
    return {WatchKey::stop};  // the terminal was closed
  return got > 0 ? parse_keys({bytes, static_cast<std::size_t>(got)}) : std::vector<WatchKey>{};
}

}  // namespace headlight::cli
