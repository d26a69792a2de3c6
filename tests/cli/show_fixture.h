// headlight show on small models of every kind, as users run it.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {

inline std::string bytes_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

class Show : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    models_ = new TempFolder;
    for (const auto& [name, kind] : {std::pair{"en", SmallKind::decoder},
                                     {"bert", SmallKind::encoder},
                                     {"en-fr", SmallKind::translator}}) {
      std::filesystem::create_directory(models_->root() / name);
      write_small_model(models_->path(name), kind);
    }
  }
  static void TearDownTestSuite() { delete models_; }

  Finished show(std::vector<std::string> arguments, const std::string& input = "",
                std::vector<std::string> more = {}) const {
    arguments.insert(arguments.begin(), "show");
    if (std::find(arguments.begin(), arguments.end(), "--model") == arguments.end()) {
      arguments.emplace_back("--model");  // most of these look at a decoder
      arguments.emplace_back("en");
    }
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_->root().string());
    for (std::string& line : more) launch.environment.push_back(std::move(line));
    std::ofstream(folder_.path("input")) << input;
    const std::string path = folder_.path("input");
    launch.in_child = [path] {
      const int fd = ::open(path.c_str(), O_RDONLY);
      ::dup2(fd, STDIN_FILENO);
    };
    return run_program(launch);
  }
  // Expects a refusal with this code, and these words on standard error.
  void refused(std::vector<std::string> arguments, int code, const std::string& words) const {
    const Finished done = show(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.err, ::testing::HasSubstr(words));
    EXPECT_EQ(done.out, "");
  }

  inline static TempFolder* models_ = nullptr;
  TempFolder folder_;
};

// The first map's numbers of a line; nan where nothing is shown.
inline std::vector<double> numbers_of(const std::string& json) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(json);
  std::vector<double> out;
  for (const simdjson::dom::element row : root.at_pointer("/maps/0/weights").get_array())
    for (const simdjson::dom::element x : row.get_array()) out.push_back(x.is_null() ? NAN : double(x));
  return out;
}

}  // namespace headlight::testing
