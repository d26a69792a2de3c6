// Files as untrusted input: regular files only, every failure is an Error that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::io {

// The text of errno for messages, such as "No space left on device".
[[nodiscard]] std::string reason(int error_number);
// Throws Error{file}: "FILE: REASON (cannot open)".
[[noreturn]] void fail_file(const std::string& path, std::string_view doing, int error_number);

// An open regular file. Pipes, devices and folders are refused, because opening them could block.
class File {
 public:
  // Throws Error{file}.
  explicit File(const std::string& path);
  // Takes over an open file and closes it at the end; `path` is its name in messages.
  File(int descriptor, const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }  // when the file was opened
  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  // Fills all of `bytes`; throws Error{file} if the file is shorter (it shrank since it was opened).
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// The whole file, refused (input) above `limit` bytes before memory is allocated.
[[nodiscard]] std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit);
[[nodiscard]] std::vector<std::byte> read_file(const File& file, std::uint64_t limit);

}  // namespace headlight::io
