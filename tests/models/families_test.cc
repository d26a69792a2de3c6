// The guide lists the families and architectures that the program knows, and no others.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "models/families.h"
#include "support/places.h"

namespace headlight::models {
namespace {

// The words in `backquotes` of the rows of the guide's table that begin with one of these kinds.
std::set<std::string> listed(const std::vector<std::string>& kinds) {
  std::ifstream in(testing::source_folder() + "/docs/guide/models.md");
  std::set<std::string> words;
  const std::regex quoted("`([^`]+)`");
  for (std::string line; std::getline(in, line);)
    for (const std::string& kind : kinds)
      if (line.starts_with("| " + kind + " |"))
        for (std::sregex_iterator at(line.begin(), line.end(), quoted), end; at != end; ++at)
          words.insert((*at)[1]);
  return words;
}

TEST(Families, TheGuideListsThem) {
  std::set<std::string> names, architectures;
  for (const Family* family : families()) {
    EXPECT_TRUE(names.emplace(family->name).second) << family->name;
    if (!family->architecture.empty()) architectures.emplace(family->architecture);
  }
  EXPECT_EQ(listed({"decoders", "decoders with experts", "encoders", "encoder-decoders"}), names);
  EXPECT_EQ(listed({"GGUF architectures"}), architectures);
}

TEST(Families, ParametersHaveOneNameInFiles) {
  constexpr NameRow rows[] = {{"experts.gate", "mlp.experts.{e}.w1"},
                              {"experts.gate_up.weight", "mlp.experts.gate_up_proj"},
                              {"experts.down", "ffn_down_exps"}};
  const Names some{.rows = rows, .layer = "layers.{n}."};
  EXPECT_EQ(file_name(some, "decoder.12.experts.3.gate.weight"), "layers.12.mlp.experts.3.w1.weight");
  EXPECT_EQ(file_name(some, "decoder.0.experts.10.gate_up.weight"), "layers.0.mlp.experts.gate_up_proj[10]");
  EXPECT_EQ(file_name(some, "decoder.0.experts.10.down.bias"), "layers.0.ffn_down_exps.bias[10]");
  EXPECT_EQ(file_name(some, "decoder.0.experts.10.up.weight"), "");
}

}  // namespace
}  // namespace headlight::models
