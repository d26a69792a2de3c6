#include "io/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <new>
#include <optional>

#include "core/concat.h"
#include "core/escape.h"

namespace headlight::io {
namespace {

constexpr int kOpen = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;

[[noreturn]] void refuse_folder(const std::string& path, const char* code, const std::string& what) {
  throw Error(ErrorKind::input, concat("folder.", code), concat(escaped(path), ": ", what));
}

// A plain file name without folders.
bool is_plain(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\\') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::optional<std::string> read_link(int folder, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (size <= 0 || static_cast<std::size_t>(size) == target.size()) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

// …/models--NAME/snapshots/REVISION
bool is_snapshot(int folder) {
  const auto own = read_link(AT_FDCWD, concat("/proc/self/fd/", folder));
  if (!own) return false;
  const std::filesystem::path path(*own);
  return path.parent_path().filename() == "snapshots" &&
         path.parent_path().parent_path().filename().string().starts_with("models--");
}

}  // namespace

Folder::Folder(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (fd_ < 0) fail_file(path, "open", errno);
}

Folder::~Folder() { ::close(fd_); }

std::string Folder::path_of(const std::string& name) const {
  return (std::filesystem::path(path_) / name).string();
}

bool Folder::has(const std::string& name) const noexcept {
  struct stat status {};
  return ::fstatat(fd_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

int Folder::open_link(const std::string& name) const {
  constexpr std::string_view kBlobs = "../../blobs/";
  const std::string target = read_link(fd_, name).value_or("");
  if (is_plain(target)) return ::openat(fd_, target.c_str(), kOpen);
  if (target.starts_with(kBlobs) && is_plain(std::string_view(target).substr(kBlobs.size())) &&
      is_snapshot(fd_)) {
    const int blobs = ::openat(fd_, "../../blobs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (blobs < 0) return -1;
    const int file = ::openat(blobs, target.c_str() + kBlobs.size(), kOpen);
    const int problem = errno;
    ::close(blobs);
    errno = problem;
    return file;
  }
  refuse_folder(path_of(name), "link", "is a link out of its folder; put the file itself there");
}

std::unique_ptr<const File> Folder::open(const std::string& name, ErrorKind missing) const {
  if (!is_plain(name))
    refuse_folder(path_, "name", concat("\"", escaped(name, 80), "\" is not a file name in this folder"));
  const std::string path = path_of(name);
  int fd = ::openat(fd_, name.c_str(), kOpen);
  if (fd < 0 && errno == ELOOP) fd = open_link(name);
  if (fd < 0) {
    const int problem = errno;
    if (problem == ELOOP) refuse_folder(path, "link", "is a link to a link; put the file itself there");
    throw Error(missing, "file.open", concat(escaped(path), ": ", reason(problem), " (cannot open)"));
  }
  try {
    // Below, File closes the descriptor; if its construction fails, close it here.
    std::unique_ptr<const File> file(new (std::nothrow) File(fd, path));
    if (file == nullptr) {
      ::close(fd);
      throw std::bad_alloc();
    }
    return file;
  } catch (const Error& error) {  // a pipe, a device, a folder
    throw Error(ErrorKind::input, error.code(), error.what());
  }
}

std::string Folder::read(const std::string& name, std::uint64_t limit) const {
  const std::unique_ptr<const File> file = open(name);
  const std::vector<std::byte> bytes = read_file(*file, limit);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headlight::io
