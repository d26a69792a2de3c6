#include "support/shared_data.h"

#include <cstdio>
#include <cstdlib>

#include "support/places.h"

namespace headlight::testing {
namespace {

// Tests are listed when they are built. If the larger set has gone since, a test of it finds nothing to run; without this
// it would count as passed.
class NothingToRun : public ::testing::EmptyTestEventListener {
  void OnTestProgramStart(const ::testing::UnitTest& all) override {
    if (all.test_to_run_count() == 0 && all.total_test_count() > 0)
      std::puts(
          "[  SKIPPED ] no such test: the larger set of reference numbers was there when tests were listed");
  }
};
[[maybe_unused]] const bool g_listens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new NothingToRun);
  return true;
}();

}  // namespace

std::filesystem::path golden_folder(const std::string& name) {
  return std::filesystem::path(source_folder()) / "tests" / "golden" / name;
}

std::vector<std::string> golden_folders(std::span<const char* const> names) {
  std::vector<std::string> folders;
  for (const char* name : names) folders.push_back(golden_folder(name).string());
  for (std::string& folder : larger_golden_folders(names)) folders.push_back(std::move(folder));
  return folders;
}

std::vector<std::string> larger_golden_folders(std::span<const char* const> names) {
  std::vector<std::string> folders;
  const auto shared = shared_data();
  for (const char* name : names)
    if (shared && std::filesystem::is_directory(*shared / "golden" / name))
      folders.push_back((*shared / "golden" / name).string());
  return folders;
}

std::string golden_name(const ::testing::TestParamInfo<std::string>& info) {
  const std::filesystem::path folder(info.param);
  const std::string name = folder.filename().string();
  return folder == golden_folder(name) ? name : name + "_larger";
}

std::optional<std::filesystem::path> shared_data() {
  std::filesystem::path path = std::filesystem::path(source_folder()).parent_path() / "shared";
  if (const char* given = std::getenv("HEADLIGHT_SHARED"); given != nullptr && *given != '\0') path = given;
  if (std::filesystem::is_directory(path / "golden")) return path;
  return std::nullopt;
}

std::vector<const char*> if_shared(std::vector<const char*> parameters) {
  if (!shared_data()) parameters.clear();
  return parameters;
}

}  // namespace headlight::testing
