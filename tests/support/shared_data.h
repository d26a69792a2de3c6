// Where reference numbers and corpora are. tests/golden is part of the repository and proves every family anywhere. The
// larger set ($HEADLIGHT_SHARED, or `shared` beside the checkout) is used in addition where it is present.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headlight::testing {

// tests/golden/NAME, a model of tools/make-golden or "attention".
[[nodiscard]] std::filesystem::path golden_folder(const std::string& name);
// The same for each name, then the folders of those names in the larger set: parameters of golden tests.
[[nodiscard]] std::vector<std::string> golden_folders(std::span<const char* const> names);
// Only those of the larger set; those are compared with other implementations' numbers.
[[nodiscard]] std::vector<std::string> larger_golden_folders(std::span<const char* const> names);
// A name for such a parameter: "gpt2", or "gpt2_larger".
[[nodiscard]] std::string golden_name(const ::testing::TestParamInfo<std::string>& info);

// The larger set; nothing when it is absent.
[[nodiscard]] std::optional<std::filesystem::path> shared_data();
// Parameters of tests that need the larger set: all of them, or none when it is absent.
[[nodiscard]] std::vector<const char*> if_shared(std::vector<const char*> parameters);

// A test, or one of a fixture, that needs the larger set. It does not exist where that is absent.
#define HEADLIGHT_SHARED_TEST(suite, name) HEADLIGHT_REGISTERED_TEST(suite, name, ::testing::Test)
#define HEADLIGHT_SHARED_TEST_F(fixture, name) HEADLIGHT_REGISTERED_TEST(fixture, name, fixture)
#define HEADLIGHT_REGISTERED_TEST(suite, name, base)                                             \
  class suite##_##name##_Shared : public base {                                                  \
    void TestBody() override;                                                                    \
  };                                                                                             \
  [[maybe_unused]] const bool suite##_##name##_registered =                                      \
      ::headlight::testing::shared_data().has_value() &&                                         \
      ::testing::RegisterTest(#suite, #name, nullptr, nullptr, __FILE__, __LINE__,               \
                              []() -> base* { return new suite##_##name##_Shared; }) != nullptr; \
  void suite##_##name##_Shared::TestBody()

}  // namespace headlight::testing
