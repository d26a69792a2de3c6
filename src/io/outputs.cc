#include "io/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::io {
namespace {

// Files that a signal handler must remove. Pointers, not strings, because a handler may not allocate or lock.
std::array<std::atomic<const char*>, 64> g_temporaries{};

bool g_writes = true;

void remember(const char* path) noexcept {
  for (auto& slot : g_temporaries) {
    const char* none = nullptr;
    if (slot.compare_exchange_strong(none, path)) return;
  }
}

void forget(const char* path) noexcept {
  for (auto& slot : g_temporaries) {
    const char* expected = path;
    if (slot.compare_exchange_strong(expected, nullptr)) return;
  }
}

[[noreturn]] void refuse_output(const std::string& path, const char* code, const std::string& what) {
  throw Error(ErrorKind::file, code, concat(escaped(path), ": ", what));
}

// A new file in the folder of `path`: only a rename within a folder is certain to be atomic.
std::string create_temporary(const std::string& path, const std::string& folder) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::string name = concat(folder, ".headlight-", ::getpid(), "-", counter++, ".part");
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      ::close(fd);
      return name;
    }
    if (errno != EEXIST) fail_file(path, "write", errno);
  }
  fail_file(path, "write", EEXIST);
}

// The errno of the failure, 0 if all was written.
int append(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

// Errors of a full disk or a broken device may only be reported when the bytes are flushed: before the rename.
int flush(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno;
  const int problem = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  return problem;
}

}  // namespace

struct Outputs::Entry {
  std::string path, folder, temporary;
  dev_t device = 0;
  ino_t folder_inode = 0;
  bool published = false;

  [[nodiscard]] std::string_view name() const { return std::string_view(path).substr(folder.size()); }
  ~Entry() {
    if (temporary.empty()) return;
    ::unlink(temporary.c_str());
    forget(temporary.c_str());
  }
};

Outputs::Outputs(Existing existing) : existing_(existing) {}
Outputs::~Outputs() = default;

void write_no_files() noexcept { g_writes = false; }

void Outputs::reserve(const std::string& path) {
  if (!g_writes) return;
  auto entry = std::make_unique<Entry>();
  entry->path = path;
  entry->folder = path.substr(0, path.rfind('/') + 1);
  struct stat status {};
  if (::stat(entry->folder.empty() ? "." : entry->folder.c_str(), &status) != 0)
    fail_file(path, "write", errno);
  entry->device = status.st_dev;
  entry->folder_inode = status.st_ino;
  check(*entry);
  entry->temporary = create_temporary(path, entry->folder);
  remember(entry->temporary.c_str());
  entries_.push_back(std::move(entry));
}

void Outputs::check(const Entry& candidate) const {
  const std::string& path = candidate.path;
  for (const auto& other : entries_) {
    if (other->device == candidate.device && other->folder_inode == candidate.folder_inode &&
        other->name() == candidate.name()) {
      throw Error(
          ErrorKind::usage, "file.twice",
          concat(escaped(path), ": two results would be written to this file; give each its own name"));
    }
  }
  struct stat status {};
  if (candidate.name().empty()) refuse_output(path, "file.kind", "is a folder, not a file");
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail_file(path, "write", errno);
    return;
  }
  if (S_ISDIR(status.st_mode)) refuse_output(path, "file.kind", "is a folder, not a file");
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    refuse_output(path, "file.kind", "is a pipe or device; results are written to regular files only");
  }
  if (existing_ == Existing::refuse)
    refuse_output(path, "file.exists", "exists already; --force replaces it");
}

void Outputs::write(const std::string& path, std::span<const std::byte> bytes) {
  if (!g_writes) return;
  for (const auto& entry : entries_) {
    if (entry->path != path) continue;
    // Opened for each call, so that a dozen results do not need a dozen open files.
    const int fd = ::open(entry->temporary.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) fail_file(path, "write", errno);
    const int problem = append(fd, bytes);
    const int closing = ::close(fd) == 0 ? 0 : errno;
    if (problem != 0 || closing != 0) fail_file(path, "write", problem != 0 ? problem : closing);
    return;
  }
  throw Error(ErrorKind::usage, "file.unreserved", concat(escaped(path), ": was not reserved"));
}

// Renames without replacing, so that a file created since the check is kept.
void Outputs::publish(Entry& entry) const {
  const char* from = entry.temporary.c_str();
  const char* to = entry.path.c_str();
  int result = -1;
  if (existing_ == Existing::replace) {
    result = ::rename(from, to);
  } else {
    result = ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) result = ::link(from, to);  // older file systems
  }
  if (result != 0) fail_file(entry.path, "write", errno);
  entry.published = true;
}

void Outputs::commit() {
  for (const auto& entry : entries_) {
    if (const int problem = flush(entry->temporary)) fail_file(entry->path, "write", problem);
  }
  try {
    for (const auto& entry : entries_) publish(*entry);
  } catch (...) {
    // Removes the files that this call created; replaced files cannot be restored.
    for (const auto& entry : entries_) {
      if (entry->published && existing_ == Existing::refuse) ::unlink(entry->path.c_str());
    }
    throw;
  }
  entries_.clear();
}

void remove_temporaries() noexcept {
  for (const auto& slot : g_temporaries) {
    if (const char* path = slot.load()) ::unlink(path);
  }
}

}  // namespace headlight::io
