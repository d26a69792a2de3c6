#include "support/temp_folder.h"

#include <cstdlib>
#include <iterator>
#include <system_error>

namespace headlight::testing {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "headlight-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  root_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

int TempFolder::entries() const {
  const std::filesystem::directory_iterator all(root_);
  return static_cast<int>(std::distance(begin(all), end(all)));
}

}  // namespace headlight::testing
