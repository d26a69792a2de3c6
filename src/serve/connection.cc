#include "serve/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "serve/http_head.h"

namespace headlight::serve {
namespace {

// Waits for an event until `end`, in short slices so that it notices when the server stops.
bool wait_for(int socket, short events, Clock::time_point end, const std::function<bool()>& give_up) {
  using std::chrono::milliseconds;
  constexpr milliseconds slice{100};
  while (!give_up()) {
    const auto rest = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    if (rest.count() <= 0) return false;
    pollfd poll{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&poll, 1, static_cast<int>(std::min(rest, slice).count()) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

}  // namespace

Connection::Got Connection::fill(Clock::time_point end, bool may_stop) {
  const auto give_up = [&] { return may_stop && stopping_(); };
  if (!wait_for(socket_, POLLIN, end, give_up)) return Got::late;
  std::array<char, 16384> buffer;  // NOLINT: written by recv
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? Got::all : Got::closed;
  if (count == 0) return Got::closed;
  pending_.append(buffer.data(), static_cast<std::size_t>(count));
  return Got::all;
}

Connection::Got Connection::read_head(std::string& head) {
  Clock::time_point end = Clock::now() + deadlines_.idle;
  bool begun = !pending_.empty();
  if (begun) end = Clock::now() + deadlines_.head;
  for (std::size_t looked = 0;;) {
    const std::size_t at = pending_.find("\r\n\r\n", looked);
    if (at != std::string::npos) {
      head = pending_.substr(0, at + 4);
      pending_.erase(0, at + 4);
      return head.size() > kLongestHead ? Got::too_long : Got::all;
    }
    if (pending_.size() > kLongestHead) return Got::too_long;
    looked = pending_.size() < 3 ? 0 : pending_.size() - 3;
    const Got got = fill(end, !begun);
    if (got != Got::all) return got;
    if (!begun && !pending_.empty()) end = Clock::now() + deadlines_.head;
    begun = !pending_.empty();
  }
}

Connection::Got Connection::read_body(std::size_t bytes, std::string& body) {
  const Clock::time_point end = Clock::now() + deadlines_.body;
  while (pending_.size() < bytes) {
    const Got got = fill(end, false);
    if (got != Got::all) return got;
  }
  body = pending_.substr(0, bytes);
  pending_.erase(0, bytes);
  return Got::all;
}

bool Connection::write(const char* data, std::size_t size) {
  const auto never = [] { return false; };
  while (size > 0) {
    if (!wait_for(socket_, POLLOUT, write_end_, never)) return false;
    const ssize_t count = ::send(socket_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool Connection::client_left() const {
  pollfd poll{.fd = socket_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&poll, 1, 0) > 0 && (poll.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Connection::finish() {
  ::shutdown(socket_, SHUT_WR);
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(300);
  std::array<char, 16384> buffer;  // NOLINT: written by recv
  constexpr std::size_t most = std::size_t{1} << 20;
  for (std::size_t total = 0; total < most && wait_for(socket_, POLLIN, end, [] { return false; });) {
    const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count <= 0) break;
    total += static_cast<std::size_t>(count);
  }
}

}  // namespace headlight::serve
