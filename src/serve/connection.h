// One client's socket, with deadlines for every step, so that a slow client cannot hold a thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace headlight::serve {

using Clock = std::chrono::steady_clock;

struct Deadlines {
  std::chrono::milliseconds head{10'000}, body{30'000}, write{30'000}, idle{10'000};
};

class Connection {
 public:
  enum class Got { all, closed, late, too_long };

  Connection(int socket, const Deadlines& deadlines, const std::function<bool()>& stopping)
      : socket_(socket), deadlines_(deadlines), stopping_(stopping) {}

  // Reads up to and including the empty line; `late` also if no request arrives in time.
  Got read_head(std::string& head);
  Got read_body(std::size_t bytes, std::string& body);
  // Writes everything before the deadline, which starts with the first call after allow_write().
  bool write(const char* data, std::size_t size);
  void allow_write() { write_end_ = Clock::now() + deadlines_.write; }
  [[nodiscard]] bool client_left() const;
  // Shuts down the sending side, and waits briefly so that the client receives the last bytes.
  void finish();

 private:
  Got fill(Clock::time_point end, bool may_stop);

  int socket_;
  const Deadlines& deadlines_;
  const std::function<bool()>& stopping_;
  std::string pending_;  // received and not yet parsed
  Clock::time_point write_end_ = {};
};

}  // namespace headlight::serve
