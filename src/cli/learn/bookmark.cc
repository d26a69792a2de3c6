#include "cli/learn/bookmark.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "learn/course.h"

namespace headlight::cli {
namespace {

std::optional<std::filesystem::path> bookmark_file() {
  // The specification says that relative paths are to be ignored.
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && std::filesystem::path(state).is_absolute())
    return std::filesystem::path(state) / "headlight" / "learn";
  const char* home = std::getenv("HOME");
  if (home != nullptr && std::filesystem::path(home).is_absolute())
    return std::filesystem::path(home) / ".local" / "state" / "headlight" / "learn";
  return std::nullopt;
}

}  // namespace

int bookmark() {
  const auto file = bookmark_file();
  if (!file) return 1;
  int chapter = 0;
  std::ifstream(*file) >> chapter;
  return chapter >= 1 && chapter <= learn::kChapters ? chapter : 1;
}

bool set_bookmark(int chapter) noexcept {
  try {
    const auto file = bookmark_file();
    if (!file) return false;
    std::error_code error;
    std::filesystem::create_directories(file->parent_path(), error);
    if (error) return false;
    std::ofstream out(*file);
    out << chapter << '\n';
    return out.flush().good();
  } catch (...) { return false; }  // a full disk or no memory: the course continues without a bookmark
}

}  // namespace headlight::cli
