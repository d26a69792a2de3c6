// The folder of a run: checkpoints, metrics, and a lock that prevents two runs from sharing it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/hash.h"

namespace headlight::train {

class RunFolder {
 public:
  // Creates the folder, with its parents, if it is missing. Refuses at once (Error{file}) a folder that could not be
  // written at the end, or that another running process uses.
  // Follow::process_0: for further processes of a team. Reads and writes nothing.
  enum class Follow : std::uint8_t { nobody, process_0 };
  explicit RunFolder(std::string path, Follow follow = Follow::nobody);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] static std::string checkpoint_name(std::int64_t step);  // "step-00000500"
  // Names, newest first, by step and not by time.
  [[nodiscard]] std::vector<std::string> checkpoints() const;
  // Keeps the newest `keep` checkpoints and removes leftovers of killed processes.
  void tidy(std::size_t keep) const noexcept;

 private:
  std::string path_;
  int lock_ = -1;
};

// A file that grows during a run. If the disk is full, added lines stay in memory until the next attempt.
class Growing {
 public:
  // Continues after the first `keep_bytes` and cuts off the rest.
  Growing(const std::string& path, std::uint64_t keep_bytes);
  ~Growing();
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;

  // False while writes are pending.
  bool append(const std::string& line) { return append_bytes(line + "\n"); }
  bool append_bytes(std::string_view bytes);
  // Flushes everything to the disk. Throws Error{file}.
  void flush();
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string hash() const { return hash_.text(); }

 private:
  int write_waiting();

  std::string path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
  io::Hash64 hash_;
  std::string waiting_;
};

}  // namespace headlight::train
