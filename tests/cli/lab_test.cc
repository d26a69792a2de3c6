// headlight lab, and the promise of docs/seeds.md: every row's command prints the line that the row says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "draw/text.h"
#include "support/places.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;

// A page of the documents, or what the program prints; models are made on the spot.
class Shown {
 public:
  Shown() {
    std::filesystem::create_directory(models_.root() / "headlight-en-fr");
    write_small_model(models_.path("headlight-en-fr"), SmallKind::translator);
  }
  const std::string& of(const std::string& command) {
    const auto [place, fresh] = known_.try_emplace(command);
    if (fresh) place->second = command.starts_with("docs/") ? page(command) : output(command);
    return place->second;
  }

 private:
  static std::string page(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(std::filesystem::path(source_folder()) / path).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::string output(const std::string& command) const {
    Launch launch{.arguments = {"-c", program_path() + " " + command}};
    // Experiments look into the model that we ship; pictures of weights can be of any.
    if (!command.starts_with("lab "))
      launch.environment.push_back("HEADLIGHT_MODELS=" + models_.root().string());
    const Finished done = run_process("/bin/sh", launch);
    EXPECT_EQ(done.code, 0) << command << "\n" << done.err;
    return done.out;
  }
  TempFolder models_;
  std::map<std::string, std::string> known_;
};

// Sentences are wrapped; a line to expect is not.
std::string unwrapped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const char next = c == '\n' ? ' ' : c;
    if (next != ' ' || out.empty() || out.back() != ' ') out += next;
  }
  return out;
}

// All our tests as one text, to look for names in.
std::string test_sources() {
  std::ostringstream text;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(source_folder()) / "tests"))
    if (entry.path().extension() == ".cc") text << std::ifstream(entry.path()).rdbuf();
  return text.str();
}

void expect_it_exists(const std::string& name, const std::string& sources) {
  if (name.empty()) return;
  const std::string suite = name.substr(0, name.find('.')), test = name.substr(name.find('.') + 1);
  if (suite == "examples")
    EXPECT_TRUE(std::filesystem::exists(source_folder() + "/examples/" + test + ".cc"));
  else EXPECT_THAT(sources, HasSubstr("(" + suite + ", " + test + ")"));
}

// And the test that a row names exists: one test of both, as the table takes a minute under a sanitizer.
TEST(LabSeeds, EveryCommandPrintsItsLine) {
  Shown shown;
  const std::string sources = test_sources();
  simdjson::dom::parser parser;
  simdjson::dom::element rows;
  ASSERT_EQ(parser.parse(shown.of("lab seeds --json -")).get(rows), simdjson::SUCCESS);
  int count = 0;
  for (const simdjson::dom::element row : rows.get_array()) {
    ++count;
    const std::string command{std::string_view(row["command"])}, line{std::string_view(row["line"])};
    EXPECT_THAT(unwrapped(shown.of(command)), HasSubstr(unwrapped(line)))
        << "row " << count << ": " << command;
    expect_it_exists(std::string(std::string_view(row["test"])), sources);
  }
  EXPECT_EQ(count, 57);
}

TEST(Lab, ListsRunsAndRefuses) {
  const Finished list = run_program({"lab"});
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, HasSubstr("  errata        Wrong numbers in tutorials"));
  std::istringstream lines(list.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(draw::display_width(line), 80) << line;
  EXPECT_THAT(run_program({"lab", "errata"}).out, HasSubstr("   theirs  0.21 0.11 0.01 0.47 (sum 0.80)"));
  const Finished unknown = run_program({"lab", "nothing"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there are: bottleneck, context, cost, distance, errata"));
  EXPECT_EQ(run_program({"lab", "seeds", "--row", "58"}).code, 2);
  EXPECT_THAT(run_program({"lab", "errata", "--markdown"}).err, HasSubstr("has no Markdown output"));
}

TEST(Lab, WhatAnExperimentHasNoUseForIsRefused) {
  const auto refused = [](std::vector<std::string> arguments, const std::string& words) {
    arguments.insert(arguments.begin(), "lab");
    const Finished done = run_program(std::move(arguments));
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err, HasSubstr(words));
  };
  refused({"errata", "--quick"}, "--quick: \"errata\" has no shorter version; leave it out");
  refused({"scalling"}, "no experiment \"scalling\"; did you mean \"scaling\"?");
  refused({"errata", "--seed", "3"}, "--seed: \"errata\" uses no random numbers");
  refused({"errata", "--png", "x.png"}, "\"errata\" has no figure");
  refused({"errata", "--row", "3"}, "--row: \"errata\" has no rows");
  refused({"bottleneck", "--markdown"}, "--markdown: \"bottleneck\" has no Markdown output");
  refused({"seeds", "--markdown", "--row", "3"}, "--markdown prints all rows; leave out --row");
  refused({"cost", "--model", "x"}, "--model: \"cost\" does not use a model");
  EXPECT_EQ(run_program({"lab", "context", "--model", "nowhere"}).code, 4);
}

TEST(Lab, DrawsItsFigure) {
  const TempFolder folder;
  const std::string svg = folder.path("bank.svg");
  const Finished done = run_program({"lab", "context", "--quick", "--svg", svg, "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\"layers\": ["));
  EXPECT_GT(std::filesystem::file_size(svg), 3000U);
  EXPECT_EQ(run_program({"lab", "context", "--quick", "--svg", svg}).code, 4);  // it exists
}

}  // namespace
}  // namespace headlight::testing
