// The bytes of a container: a file, read in pieces and memory-mapped on request, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "io/file.h"

namespace headlight::io {

class Source {
 public:
  explicit Source(std::unique_ptr<const File> file);
  // `name` is the source's name in messages.
  Source(std::vector<std::byte> memory, std::string name);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return file_ ? file_->size() : memory_.size(); }
  // A private copy, which cannot change after it was checked. The caller has checked that the range exists;
  // throws Error{file} for a file that has become shorter since.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  // Mapped, not copied, with any alignment. Throws Error{file} if the file has become shorter.
  [[nodiscard]] std::span<const std::byte> mapped(std::uint64_t offset, std::uint64_t bytes);

 private:
  std::string name_;
  std::unique_ptr<const File> file_;
  std::vector<std::byte> memory_;
  std::once_flag once_;
  const std::byte* mapping_ = nullptr;
};

}  // namespace headlight::io
