// Which models headlight serve offers, and in which order.
#include "cli/serve/models.h"

#include <gtest/gtest.h>

#include <CLI/Error.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::cli {
namespace {

class ServedModels : public ::testing::Test {
 protected:
  ServedModels() { ::setenv("HEADLIGHT_MODELS", folder_.path("models").c_str(), 1); }
  ~ServedModels() override { ::unsetenv("HEADLIGHT_MODELS"); }
  ServedModels(const ServedModels&) = delete;
  ServedModels& operator=(const ServedModels&) = delete;

  std::string model(const std::string& path, const std::string& config = "config.json") const {
    std::filesystem::create_directories(folder_.root() / path);
    std::ofstream(folder_.root() / path / config) << "{}";
    return folder_.path(path);
  }
  static std::vector<std::string> names(const std::vector<serve::ModelPlace>& places) {
    std::vector<std::string> list;
    for (const serve::ModelPlace& place : places) list.push_back(place.name);
    return list;
  }
  testing::TempFolder folder_;
};

using Names = std::vector<std::string>;

TEST_F(ServedModels, TheRequestedOnesComeFirst) {
  (void)model("models/headlight-en-fr");
  (void)model("models/headlight-en");
  const std::string own = model("own");
  const auto list = served_models({.names = {own, "en"}, .adapter = ""}, false);
  ASSERT_GE(list.size(), 3U);  // the models that come with the program may follow
  EXPECT_EQ(Names({list[0].name, list[1].name, list[2].name}),
            Names({"own", "headlight-en", "headlight-en-fr"}));
  EXPECT_EQ(list[0].folder, own);
  EXPECT_EQ(names(served_models({.names = {own}, .adapter = ""}, true)), Names({"own"}));
  EXPECT_EQ(served_models({}, false)[0].name, "headlight-en-fr");
  EXPECT_THROW((void)served_models({.names = {own, own}, .adapter = ""}, false), CLI::ValidationError);
}

TEST_F(ServedModels, ARunStandsForItsCheckpoints) {
  (void)model("run/step-00000010");
  (void)model("run/step-00000200", "adapter_config.json");  // of LoRA: no config.json of its own
  std::filesystem::create_directories(folder_.root() / "run/step-00000300");
  std::filesystem::create_directories(folder_.root() / "run/tokens");
  const auto list = served_models({.names = {folder_.path("run")}, .adapter = ""}, true);
  EXPECT_EQ(names(list), Names({"run@200", "run@10"}));
  EXPECT_EQ(list[0].folder, folder_.path("run/step-00000200"));
}

TEST_F(ServedModels, AnAdapterGoesWithOneModel) {
  (void)model("models/headlight-en");
  (void)model("models/headlight-en-fr");
  const std::string adapter = model("adapter", "adapter_config.json");
  const auto list = served_models({.names = {"en"}, .adapter = adapter}, true);
  EXPECT_EQ(list[0].folder, folder_.path("models/headlight-en") + "+" + adapter);
  testing::expect_error(
      [&] {
        (void)served_models({.names = {"en", "en-fr"}, .adapter = adapter}, true);
      },
      ErrorKind::usage, "input.options", "--adapter goes with one --model");
}

}  // namespace
}  // namespace headlight::cli
