// Text files, plain or compressed by gzip, detected by the first bytes and not by the name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace headlight::io {

// The whole text. More than `limit` bytes, compressed or not, are Error{input} before memory is allocated;
// so is a compressed file that is truncated, damaged, or followed by other data.
[[nodiscard]] std::string read_text(const std::string& path, std::uint64_t limit = std::uint64_t{4} << 30);

// The same in pieces, for files larger than memory.
class TextPieces {
 public:
  explicit TextPieces(const std::string& path);
  ~TextPieces();
  TextPieces(const TextPieces&) = delete;
  TextPieces& operator=(const TextPieces&) = delete;

  // Appends the next part of the text, at most some megabytes; false at the end.
  bool append_to(std::string& text);
  // Fraction of the file that was read, from 0 to 1.
  [[nodiscard]] double share_read() const noexcept {
    return file_.size() == 0 ? 1 : static_cast<double>(at_) / static_cast<double>(file_.size());
  }

 private:
  struct Inflating;
  bool read_more();  // of the file

  File file_;
  std::uint64_t at_ = 0;
  std::vector<std::byte> piece_;
  std::unique_ptr<Inflating> inflating_;  // null: the file is plain
};

// Decompresses one or more gzip members, one after the other.
[[nodiscard]] std::string gunzip(std::span<const std::byte> bytes, std::uint64_t limit,
                                 const std::string& name);

// One gzip member with the highest compression. The same bytes for the same text: no time or name is stored.
[[nodiscard]] std::string gzip(std::string_view text);

}  // namespace headlight::io
