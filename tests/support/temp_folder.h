// A folder that exists as long as the test needs it.
#pragma once

#include <filesystem>
#include <string>

namespace headlight::testing {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  // How many entries it has: a failed command must not leave any behind.
  [[nodiscard]] int entries() const;

 private:
  std::filesystem::path root_;
};

}  // namespace headlight::testing
