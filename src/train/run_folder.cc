#include "train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/folder_writer.h"

namespace headlight::train {
namespace {

constexpr std::string_view kPrefix = "step-";

// The step of "step-00000500"; -1 for any other name.
std::int64_t step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  std::int64_t step = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), step);
  return problem == std::errc() && end == name.data() + name.size() && step >= 0 ? step : -1;
}

std::string owner_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string owner(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  owner.erase(std::find_if(owner.begin(), owner.end(), [](char c) { return c < '0' || c > '9'; }),
              owner.end());
  return owner.empty() ? std::string("unknown") : owner;
}

void make_folders(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  struct stat status {};
  if (problem) io::fail_file(path, "write", problem.value());
  if (::stat(path.c_str(), &status) != 0) io::fail_file(path, "write", errno);
  if (!S_ISDIR(status.st_mode)) io::fail_file(path, "write", ENOTDIR);
}

}  // namespace

RunFolder::RunFolder(std::string path, Follow follow) : path_(std::move(path)) {
  if (follow == Follow::process_0) return;
  make_folders(path_);
  // The kernel releases the lock when its owner dies: a stale lock file locks nothing.
  const std::string lock = file("lock");
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (lock_ < 0) io::fail_file(path_, "write", errno);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int problem = errno;
    const std::string owner = owner_of(lock_);
    ::close(lock_);
    lock_ = -1;
    if (problem != EWOULDBLOCK) io::fail_file(lock, "lock", problem);
    throw Error(ErrorKind::file, "run.locked",
                concat(escaped(path_), ": another run is using this folder (process ", owner, ")"));
  }
  const std::string owner = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, owner.data(), owner.size(), 0) < 0) {
    const int problem = errno;
    ::close(lock_);
    io::fail_file(lock, "write", problem);
  }
}

RunFolder::~RunFolder() {
  if (lock_ < 0) return;
  ::close(lock_);
}

std::string RunFolder::checkpoint_name(std::int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

std::vector<std::string> RunFolder::checkpoints() const {
  std::vector<std::pair<std::int64_t, std::string>> found;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(path_, problem)) {
    std::string name = entry.path().filename().string();
    if (const std::int64_t step = step_of(name); step >= 0) found.emplace_back(step, std::move(name));
  }
  if (problem) io::fail_file(path_, "read", problem.value());
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [step, name] : found) names.push_back(std::move(name));
  return names;
}

void RunFolder::tidy(std::size_t keep) const noexcept {
  try {
    io::remove_leftovers(path_);
    const std::vector<std::string> names = checkpoints();
    for (std::size_t i = keep; i < names.size(); ++i) io::remove_folder(path_, names[i]);
  } catch (...) {  // old checkpoints only take space
  }
}

Growing::Growing(const std::string& path, std::uint64_t keep_bytes) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) io::fail_file(path_, "write", errno);
  if (::ftruncate(fd_, static_cast<off_t>(keep_bytes)) != 0) {
    const int problem = errno;
    ::close(fd_);
    io::fail_file(path_, "write", problem);
  }
  std::array<std::byte, 1 << 14> buffer{};
  while (bytes_ < keep_bytes) {
    const ssize_t got =
        ::pread(fd_, buffer.data(), std::min<std::uint64_t>(buffer.size(), keep_bytes - bytes_),
                static_cast<off_t>(bytes_));
    if (got <= 0) break;
    hash_.update(std::span(buffer).first(static_cast<std::size_t>(got)));
    bytes_ += static_cast<std::uint64_t>(got);
  }
  (void)::lseek(fd_, static_cast<off_t>(bytes_), SEEK_SET);
}

Growing::~Growing() {
  (void)write_waiting();
  ::close(fd_);
}

int Growing::write_waiting() {
  while (!waiting_.empty()) {
    const ssize_t written = ::write(fd_, waiting_.data(), waiting_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
  return 0;
}

bool Growing::append_bytes(std::string_view bytes) {
  waiting_ += bytes;
  bytes_ += bytes.size();
  hash_.update(bytes);
  return write_waiting() == 0;
}

void Growing::flush() {
  int problem = write_waiting();
  if (problem == 0 && ::fsync(fd_) != 0 && errno != EINVAL) problem = errno;
  if (problem != 0) io::fail_file(path_, "write", problem);
}

}  // namespace headlight::train
