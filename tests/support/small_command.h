// A command of the program, run on small models of every kind as users run it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {

using Arguments = std::vector<std::string>;

class SmallCommand : public ::testing::Test {
 protected:
  explicit SmallCommand(std::string command, const SmallShape& shape = {}) : command_(std::move(command)) {
    for (const auto& [name, kind] : {std::pair{"en", SmallKind::decoder},
                                     {"bert", SmallKind::encoder},
                                     {"headlight-en-fr", SmallKind::translator}}) {
      std::filesystem::create_directory(models_.root() / name);
      write_small_model(models_.path(name), kind, shape);
    }
  }

  [[nodiscard]] Finished run(Arguments arguments) const {
    arguments.insert(arguments.begin(), command_);
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_.root().string());
    return run_program(launch);
  }
  [[nodiscard]] simdjson::dom::element json(simdjson::dom::parser& parser, Arguments arguments) const {
    arguments.insert(arguments.end(), {"--json", "-"});
    const Finished done = run(std::move(arguments));
    EXPECT_EQ(done.code, 0) << done.err;
    simdjson::dom::element root;
    EXPECT_EQ(parser.parse(done.out).get(root), simdjson::SUCCESS) << done.out;
    return root;
  }
  void refused(Arguments arguments, const std::string& words, int code = 2) const {
    const Finished done = run(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.err, ::testing::HasSubstr(words));
    EXPECT_EQ(done.out, "");
  }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name)) << text;
    return folder_.path(name);
  }

  TempFolder models_, folder_;

 private:
  std::string command_;
};

}  // namespace headlight::testing
