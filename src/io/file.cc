#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::io {
namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::file, "file.kind", concat(escaped(path), ": ", what));
}

}  // namespace

std::string reason(int error_number) { return std::generic_category().message(error_number); }

void fail_file(const std::string& path, std::string_view doing, int error_number) {
  throw Error(ErrorKind::file, concat("file.", doing),
              concat(escaped(path), ": ", reason(error_number), " (cannot ", doing, ")"));
}

namespace {

// O_NONBLOCK: opening a pipe without a writer must not block. It has no effect on regular files.
int opened(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) fail_file(path, "open", errno);
  return fd;
}

}  // namespace

File::File(const std::string& path) : File(opened(path), path) {}

File::File(int descriptor, const std::string& path) try : path_(path), fd_(descriptor) {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail_file(path, "open", errno);
  if (!S_ISREG(status.st_mode))
    refuse_file(path, S_ISDIR(status.st_mode) ? "is a folder, not a file"
                                              : "is a pipe or device, not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
} catch (...) {  // rethrown; closes the file even if there is no memory for its name
  ::close(descriptor);
}

File::~File() { ::close(fd_); }

void File::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_file(path_, "read", errno);
    if (got == 0) refuse_file(path_, concat("was truncated while it was read (at byte ", offset, ")"));
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit) {
  return read_file(File(path), limit);
}

std::vector<std::byte> read_file(const File& file, std::uint64_t limit) {
  if (file.size() > limit) {
    throw Error(ErrorKind::input, "file.size",
                concat(escaped(file.path()), ": ", file.size(), " bytes are too many (limit ", limit, ")"));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  file.read(0, bytes);
  return bytes;
}

}  // namespace headlight::io
