#include "io/folder_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "core/concat.h"
#include "io/file.h"

namespace headlight::io {
namespace {

constexpr std::string_view kTemporary = ".part-", kTrash = ".trash-";

// An unused name that remove_leftovers() recognises.
std::string fresh_name(const std::string& parent, std::string_view prefix) {
  static std::atomic<unsigned> counter{0};
  for (;;) {
    std::string path = concat(parent, "/", prefix, ::getpid(), "-", counter++);
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return path;
  }
}

}  // namespace

void flush_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail_file(path, "open", errno);
  const int problem = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  if (problem != 0) fail_file(path, "write", problem);
}

FolderWriter::FolderWriter(const std::string& parent, const std::string& name)
    : parent_(parent), name_(name), temporary_(fresh_name(parent, kTemporary)) {
  if (::mkdir(temporary_.c_str(), 0777) != 0) fail_file(parent_ + "/" + name_, "write", errno);
}

FolderWriter::~FolderWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (temporary_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
}

void FolderWriter::begin(const std::string& file) {
  file_ = parent_ + "/" + name_ + "/" + file;
  const std::string path = temporary_ + "/" + file;
  if (const std::size_t slash = file.find('/'); slash != std::string::npos) {
    const std::string folder = temporary_ + "/" + file.substr(0, slash);
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) fail_file(file_, "write", errno);
  }
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_file(file_, "write", errno);
}

void FolderWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_file(file_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void FolderWriter::end() {
  const int problem = ::fsync(fd_) == 0 || errno == EINVAL ? 0 : errno;
  const int closing = ::close(fd_) == 0 ? 0 : errno;
  fd_ = -1;
  if (problem != 0 || closing != 0) fail_file(file_, "write", problem != 0 ? problem : closing);
}

void FolderWriter::commit() {
  flush_folder(temporary_);
  const std::string path = parent_ + "/" + name_;
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    temporary_.clear();
    return flush_folder(parent_);
  }
  if (errno == EEXIST &&
      ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    flush_folder(parent_);  // the destructor removes the old folder, which now has the temporary name
    return;
  }
  // File systems without these two operations: for a moment neither folder exists, but never an incomplete one.
  if (errno != EINVAL && errno != ENOSYS) fail_file(path, "write", errno);
  remove_folder(parent_, name_);
  if (::rename(temporary_.c_str(), path.c_str()) != 0) fail_file(path, "write", errno);
  temporary_.clear();
  flush_folder(parent_);
}

void remove_folder(const std::string& parent, const std::string& name) noexcept {
  try {
    const std::string trash = fresh_name(parent, kTrash);
    if (::rename((parent + "/" + name).c_str(), trash.c_str()) != 0) return;
    std::error_code ignored;
    std::filesystem::remove_all(trash, ignored);
  } catch (...) {  // no memory for a name: the complete folder stays
  }
}

void remove_leftovers(const std::string& parent) noexcept {
  try {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(kTemporary) || name.starts_with(kTrash)) found.push_back(entry.path());
    }
    std::error_code ignored;
    for (const auto& path : found) std::filesystem::remove_all(path, ignored);
  } catch (...) {  // leftovers only use space
  }
}

}  // namespace headlight::io
