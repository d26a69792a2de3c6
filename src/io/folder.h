// A model's folder, opened once. Its files are opened relative to that handle by plain names, so no path
// in an untrusted file can lead out of the folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "headlight/error.h"
#include "io/file.h"

namespace headlight::io {

class Folder {
 public:
  // Throws Error{file}.
  explicit Folder(const std::string& path);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path_of(const std::string& name) const;
  // Whether an entry has this name, link or not.
  [[nodiscard]] bool has(const std::string& name) const noexcept;
  // A regular file. A link is followed to a file of the same folder, and, in a snapshot of a Hugging Face
  // cache, to a blob of the same model; any other is refused. Throws Error{input} for refused links, and
  // Error{missing} if there is no such file: `file` for a name chosen by the program, `input` for one read from
  // another file.
  [[nodiscard]] std::unique_ptr<const File> open(const std::string& name,
                                                 ErrorKind missing = ErrorKind::file) const;
  // All of a file, refused above `limit` bytes.
  [[nodiscard]] std::string read(const std::string& name, std::uint64_t limit) const;

 private:
  [[nodiscard]] int open_link(const std::string& name) const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace headlight::io
