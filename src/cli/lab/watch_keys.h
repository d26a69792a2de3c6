// Keys that steer a run in the terminal, read one by one without Enter.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

namespace headlight::cli {

enum class WatchKey { pause, step, back, forward, remove, stop };

// Decodes keys from a terminal: space or p, s or a period, the arrows or h and l, k, q or Enter. Others are ignored.
[[nodiscard]] std::vector<WatchKey> parse_keys(std::string_view bytes);

// Takes the terminal out of line mode and restores it at the end. Ctrl-C stays a signal.
class KeyReader {
 public:
  explicit KeyReader(bool wanted);  // listens only if standard input is a terminal, too
  ~KeyReader();
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;

  [[nodiscard]] bool listens() const noexcept { return before_ != nullptr; }
  // The key that was pressed, or none after `wait`.
  [[nodiscard]] std::vector<WatchKey> read(std::chrono::milliseconds wait);

 private:
  struct Mode;
  std::unique_ptr<Mode> before_;
};

}  // namespace headlight::cli
