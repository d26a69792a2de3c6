// headlight explain TEXT: one weight of a model, as users ask for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "draw/text.h"
#include "support/shared_data.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Arguments = std::vector<std::string>;

class ExplainSteps : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    models_ = new TempFolder;
    for (const auto& [name, kind] : {std::pair{"headlight-en", SmallKind::decoder},
                                     {"bert", SmallKind::encoder},
                                     {"headlight-en-fr", SmallKind::translator}}) {
      std::filesystem::create_directory(models_->root() / name);
      write_small_model(models_->path(name), kind);
    }
  }
  static void TearDownTestSuite() { delete models_; }

  static Finished explain(Arguments arguments) {
    arguments.insert(arguments.begin(), "explain");
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_->root().string());
    return run_program(launch);
  }
  static void refused(Arguments arguments, const std::string& words, int code = 2) {
    const Finished done = explain(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(words));
    EXPECT_EQ(done.out, "");
  }
  static TempFolder* models_;
  TempFolder folder_;
};
TempFolder* ExplainSteps::models_ = nullptr;

const Arguments kCat = {
    "the cat sat on the mat", "--model", "en", "--head", "1.0", "--query", "sat", "--key", "cat"};

Arguments with(Arguments base, const Arguments& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

// The number after `before`, on the line where it stands.
double number_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before << "\n" << text;
  return at == std::string::npos ? NAN : std::stod(text.substr(at + before.size()));
}

TEST_F(ExplainSteps, EveryStepWithItsNumbers) {
  const Finished done = explain(kCat);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "");
  for (const char* step : {"1  Input of the layer", "2  Norm", "3  Query and key", "4  Score", "5  Scale",
                           "6  Mask", "7  Weights", "8  Weighted sum", "9  Output projection"})
    EXPECT_THAT(done.out, HasSubstr(step));
  EXPECT_THAT(done.out, HasSubstr("decoder layer 1, head 0"));
  EXPECT_THAT(done.out, HasSubstr("\"sat\" sees tokens 0 to 3 of 8"));
  EXPECT_THAT(done.out, HasSubstr("   ✓ the kernel used 0."));
  EXPECT_THAT(done.out, HasSubstr("   ✓ the float64 reference has 0."));
  // The running sum lands on the score, the scale divides it, the softmax row ends in one.
  const double score = number_after(done.out, "q·k = ");
  const std::size_t end_of_sum = done.out.find("\n\n      q·k = ");
  ASSERT_NE(end_of_sum, std::string::npos);
  const std::size_t last = done.out.rfind('\n', end_of_sum - 1);
  const std::string line = done.out.substr(last, end_of_sum - last);
  EXPECT_NEAR(std::stod(line.substr(line.rfind(' '))), score, 1e-9);
  EXPECT_NEAR(number_after(done.out, " ÷ √8 = "), score / std::sqrt(8.0), 1e-4);
  const std::size_t at = done.out.find("\n      sum ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(done.out.substr(at, done.out.find('\n', at + 1) - at), HasSubstr("  1.0000"));
  for (std::size_t begin = 0; begin < done.out.size();) {  // a page of 80 columns
    const std::size_t end = done.out.find('\n', begin);
    EXPECT_LE(draw::display_width(done.out.substr(begin, end - begin)), 80)
        << done.out.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST_F(ExplainSteps, JsonAddsUp) {
  const Finished done = explain(with(kCat, {"--json"}));
  EXPECT_EQ(done.code, 0) << done.err;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(done.out).get(root), simdjson::SUCCESS) << done.out;
  double dot = 0;
  for (std::size_t d = 0; d < 8; ++d)
    dot += double(root["query"]["projected"].at(d)) * double(root["key"]["projected"].at(d));
  EXPECT_NEAR(dot, double(root["dot_products"].at(2)), 1e-12);
  EXPECT_NEAR(dot / std::sqrt(8.0), double(root["score"]), 1e-12);
  double sum = 0;
  for (const simdjson::dom::element x : root["weights"].get_array()) sum += double(x);
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_TRUE(root["scores"].at(5).is_null());  // not visible is not zero
  EXPECT_LE(double(root["kernel_gap"]), 1e-5);
  EXPECT_EQ(std::string_view(root["queries"].at(3)), "sat");
}

// The snippets are whole programs: they are run, and print the weight.
TEST_F(ExplainSteps, CppSnippetComputesTheWeight) {
  if (!std::filesystem::exists("/usr/bin/c++")) GTEST_SKIP() << "no /usr/bin/c++ here";
  std::vector<Arguments> cases = {kCat};
  for (const char* family : {"gemma2", "bloom", "llama"})
    cases.push_back({"--ids", "5,17,3,9,2", "--model", golden_folder(family).string(), "--head", "1.1",
                     "--query", "@4", "--key", "@1"});
  for (const Arguments& arguments : cases) {
    const Finished source = explain(with(arguments, {"--as", "cpp"}));
    ASSERT_EQ(source.code, 0) << source.err;
    const std::string path = folder_.path("weight.cc"), program = folder_.path("weight");
    std::ofstream(path) << source.out;
    const Finished built = run_process(
        "/usr/bin/c++", {.arguments = {"-std=c++17", "-Wall", "-Wextra", "-Werror", path, "-o", program}});
    ASSERT_EQ(built.code, 0) << built.err << source.out;
    const std::string said = source.out.substr(source.out.rfind("// ") + 3, 8);
    EXPECT_EQ(run_process(program, {}).out, said + "\n");
  }
}

TEST_F(ExplainSteps, NumpySnippetComputesTheWeight) {
  const std::string python = "/usr/bin/python3";
  if (run_process(python, {.arguments = {"-c", "import numpy"}}).code != 0)
    GTEST_SKIP() << "no python3-numpy here";
  std::vector<Arguments> cases = {kCat};
  for (const char* family : {"gemma2", "bloom", "t5"})
    cases.push_back({"--ids", "5,17,3,9,2", "--model", golden_folder(family).string(), "--head", "1.1",
                     "--query", "@4", "--key", "@1"});
  for (const Arguments& arguments : cases) {
    const Finished source = explain(with(arguments, {"--as", "numpy"}));
    ASSERT_EQ(source.code, 0) << source.err;
    std::ofstream(folder_.path("weight.py")) << source.out;
    const Finished done = run_process(python, {.arguments = {folder_.path("weight.py")}});
    EXPECT_EQ(done.out, source.out.substr(source.out.rfind("# ") + 2, 8) + "\n") << done.err;
  }
}

// One space in place of each break: sentences are wrapped.
std::string unwrapped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const char next = c == '\n' ? ' ' : c;
    if (next != ' ' || out.empty() || out.back() != ' ') out += next;
  }
  return out;
}

// Each family's recipe in words: what it has is told, what it lacks is not.
TEST_F(ExplainSteps, FollowsTheRecipeOfEveryFamily) {
  const auto page = [](const std::string& family, const std::string& part) {
    Arguments arguments = {"--ids",   "5,17,3,9,2,11",
                           "--model", golden_folder(family).string(),
                           "--head",  "1.1",
                           "--query", "@3",
                           "--key",   "@1",
                           "--part",  part};
    if (family == "t5" || family == "marian") arguments = with(arguments, {"--target-ids", "4,8,2,6,1"});
    const Finished used = explain(arguments);
    EXPECT_EQ(used.code, 0) << used.err;
    EXPECT_THAT(used.out, HasSubstr("✓ the kernel used"));
    EXPECT_THAT(used.out, HasSubstr("✓ the float64 reference has"));
    return unwrapped(used.out);
  };
  EXPECT_THAT(page("gpt2", "decoder"), HasSubstr("Subtract the mean"));
  const std::string llama = page("llama", "decoder");
  EXPECT_THAT(llama, ContainsRegex(" [0-9]+ Positions [A-Z]"));
  EXPECT_THAT(llama, HasSubstr("query heads share key head"));
  EXPECT_THAT(llama, HasSubstr("root mean square"));
  EXPECT_THAT(llama, Not(HasSubstr("and their biases")));
  EXPECT_THAT(page("qwen3", "decoder"), ContainsRegex(" [0-9]+ Norm of query and key [A-Z]"));
  const std::string gemma = page("gemma2", "decoder");
  EXPECT_THAT(gemma, HasSubstr("× tanh("));
  EXPECT_THAT(gemma, HasSubstr("its own scale"));
  EXPECT_THAT(page("mistral", "decoder"), HasSubstr("window is"));
  EXPECT_THAT(page("bloom", "decoder"), HasSubstr("(ALiBi)"));
  const std::string t5 = page("t5", "decoder");
  EXPECT_THAT(t5, HasSubstr("has a learned bias for each distance"));
  EXPECT_THAT(t5, Not(ContainsRegex(" [0-9]+ Scale [A-Z]")));
  EXPECT_THAT(page("t5", "encoder"), Not(ContainsRegex(" [0-9]+ Mask [A-Z]")));
  EXPECT_THAT(page("marian", "cross"), HasSubstr("of the text it translates"));
  const std::string bert = page("bert", "encoder");
  EXPECT_THAT(bert, Not(ContainsRegex(" [0-9]+ Norm [A-Z]")));
  EXPECT_THAT(bert, HasSubstr("positions were added to the embeddings"));
}

TEST_F(ExplainSteps, ChoosesWhatWasNotNamedAndSaysSo) {
  const Finished head =
      explain({"the cat sat on the mat", "--model", "en", "--query", "sat", "--key", "cat"});
  EXPECT_EQ(head.code, 0) << head.err;
  EXPECT_THAT(head.err, HasSubstr("where \"sat\" looks hardest at it; --head L.H selects another"));
  const Finished key =
      explain({"the cat sat on the mat", "--model", "en", "--query", "sat", "--head", "0.1"});
  EXPECT_THAT(key.err, HasSubstr("note: the key is \""));
  const Finished two =
      explain({"the cat was too tired", "--query", "tired", "--key", "cat", "--head", "0.0"});
  EXPECT_EQ(two.code, 0) << two.err;  // en-fr, the default, found as headlight-en-fr
  EXPECT_THAT(two.err,
              HasSubstr("\"tired\" is 2 tokens: using the first (token 5); @6 selects the next one"));
  const Finished cross =
      explain({"the cat sat", "--part", "cross", "--target", "on the mat", "--query", "mat"});
  EXPECT_EQ(cross.code, 0) << cross.err;
  EXPECT_THAT(cross.out, HasSubstr("cross layer"));
}

TEST_F(ExplainSteps, WhatANewcomerDoesWrong) {
  refused({"the cat sat", "--head", "0.0"}, "no query word; give --query WORD");
  refused({"--head", "0.0", "--query", "cat"}, "need a model and a TEXT");
  refused({"the cat sat", "--query", "dog"},
          "\"dog\" is not in the text\n  The words are: [CLS] the cat sat [SEP]");
  refused(
      {"the cat sat", "--query", "cat", "--head", "7.0"},
      "--head 7.0: the encoder attention of \"headlight-en-fr\" has layers 0 to 1 and heads 0 to 1 in each");
  refused({"the cat sat", "--query", "cat", "--head", "0.0,0.1"}, "shows one head");
  refused({"the cat sat", "--query", "cat", "--model", "en", "--part", "cross"}, "is a decoder alone");
  refused({"the cat sat", "--query", "cat", "--key", "sat", "--model", "en"},
          "token 2 cannot see token 3: it sees tokens 0 to 2 only (a decoder cannot see later tokens)");
  refused({"the cat sat", "--query", "cat", "--trainable"}, "leave out --simple, --trainable");
  refused({"the cat sat", "--query", "cat", "--as", "perl"}, "--as: \"perl\" is not one of numpy|cpp");
  refused({"the cat sat", "--query", "cat", "--as", "cpp", "--json"}, "give one of them");
  refused({"the cat sat", "--query", "cat", "--model", "gpt5"}, "Headlight does not download", 4);
}

}  // namespace
}  // namespace headlight::testing
