// headlight explain: the published numbers of "Your journey starts with one step" come out of the
// program, and a sentence of one's own is read strictly. Six-digit values are independent of this
// project; four-digit ones are printed in the notebooks that the example comes from.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <unistd.h>

#include <fstream>

#include "draw/text.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Matrix = std::vector<std::vector<double>>;

// The program's JSON, with paths such as "/heads/0/weights".
class Answer {
 public:
  explicit Answer(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    arguments.emplace_back("--json");
    const Finished done = run_program(arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(parser_.parse(done.out).get(root_), simdjson::SUCCESS) << done.out;
  }
  [[nodiscard]] Matrix matrix(const char* path) const {
    Matrix rows;
    simdjson::dom::array list;
    EXPECT_EQ(root_.at_pointer(path).get(list), simdjson::SUCCESS) << path;
    for (const simdjson::dom::element row : list) {
      rows.emplace_back();
      for (const simdjson::dom::element number : row.get_array()) rows.back().push_back(number.get_double());
    }
    return rows;
  }
  [[nodiscard]] simdjson::dom::element root() const { return root_; }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

void expect_matrix(const Matrix& found, const Matrix& expected, double half_unit = 5.1e-7) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_GE(found[i].size(), expected[i].size());
    for (std::size_t j = 0; j < expected[i].size(); ++j)
      EXPECT_NEAR(found[i][j], expected[i][j], half_unit) << i << "," << j;
  }
}

const Matrix kSimpleWeights = {{0.209835, 0.200581, 0.198149, 0.124228, 0.122049, 0.145158},
                               {0.138548, 0.237891, 0.233274, 0.123992, 0.108182, 0.158114},
                               {0.139008, 0.236921, 0.232602, 0.124204, 0.110800, 0.156464},
                               {0.143527, 0.207394, 0.204552, 0.146192, 0.126295, 0.172039},
                               {0.152611, 0.195839, 0.197491, 0.136687, 0.187859, 0.129514},
                               {0.138471, 0.218364, 0.212759, 0.142048, 0.098806, 0.189552}};

TEST(ExplainNumbers, SimpleAttention) {
  const Answer answer({});
  expect_matrix(answer.matrix("/heads/0/scores"),
                {{0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310},
                 {0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865},
                 {0.9422, 1.4754, 1.4570, 0.8296, 0.7154, 1.0605},
                 {0.4753, 0.8434, 0.8296, 0.4937, 0.3474, 0.6565},
                 {0.4576, 0.7070, 0.7154, 0.3474, 0.6654, 0.2935},
                 {0.6310, 1.0865, 1.0605, 0.6565, 0.2935, 0.9450}},
                5.1e-5);
  expect_matrix(answer.matrix("/heads/0/weights"), kSimpleWeights);
  expect_matrix(answer.matrix("/context"), {{0.442059, 0.593099, 0.578989},
                                            {0.441866, 0.651482, 0.568309},
                                            {0.443128, 0.649595, 0.567073},
                                            {0.430390, 0.629828, 0.551027},
                                            {0.467102, 0.590993, 0.526597},
                                            {0.417724, 0.650323, 0.564535}});
}

TEST(ExplainNumbers, TrainableAttention) {
  const Answer answer({"--trainable"});
  expect_matrix(answer.matrix("/heads/0/wq"),
                {{0.29611194, 0.51656228}, {0.25167072, 0.68855679}, {0.07397246, 0.86652195}}, 5.1e-9);
  expect_matrix(answer.matrix("/heads/0/wk"),
                {{0.13657987, 0.10247904}, {0.18405646, 0.72644675}, {0.31525391, 0.68710667}}, 5.1e-9);
  expect_matrix(answer.matrix("/heads/0/wv"),
                {{0.07563531, 0.19663817}, {0.31641197, 0.40174013}, {0.11856830, 0.82739538}}, 5.1e-9);
  EXPECT_NEAR(answer.matrix("/heads/0/q")[1][1], 1.4551, 5.1e-5);
  expect_matrix({answer.matrix("/heads/0/scores")[1]}, {{1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440}},
                5.1e-5);
  expect_matrix(answer.matrix("/heads/0/weights"),
                {{0.155097, 0.210417, 0.205938, 0.141264, 0.107384, 0.179901},
                 {0.150019, 0.226384, 0.219872, 0.131070, 0.090629, 0.182026},
                 {0.150343, 0.225610, 0.219206, 0.131541, 0.091414, 0.181887},
                 {0.159085, 0.199401, 0.196232, 0.147728, 0.120641, 0.176912},
                 {0.160999, 0.194937, 0.192284, 0.150084, 0.126525, 0.175170},
                 {0.155742, 0.209156, 0.204841, 0.141932, 0.108911, 0.179418}});
  expect_matrix(answer.matrix("/context"), {{0.299582, 0.805314},
                                            {0.306100, 0.821030},
                                            {0.305781, 0.820296},
                                            {0.294766, 0.793866},
                                            {0.292706, 0.789084},
                                            {0.299010, 0.804037}});
}

TEST(ExplainNumbers, OneLinearHead) {
  expect_matrix(Answer({"--heads", "1", "--seed", "789"}).matrix("/context"), {{-0.073890, 0.071290},
                                                                               {-0.074811, 0.070309},
                                                                               {-0.074856, 0.070242},
                                                                               {-0.076002, 0.068450},
                                                                               {-0.076328, 0.067943},
                                                                               {-0.075444, 0.069305}});
  expect_matrix(Answer({"--heads", "1", "--seed", "789", "--causal"}).matrix("/heads/0/weights"),
                {{1, 0, 0, 0, 0, 0},
                 {0.551678, 0.448322, 0, 0, 0, 0},
                 {0.379967, 0.309714, 0.310319, 0, 0, 0},
                 {0.275843, 0.246028, 0.246247, 0.231882, 0, 0},
                 {0.217515, 0.198281, 0.198398, 0.188753, 0.197053, 0},
                 {0.193472, 0.166333, 0.166568, 0.154186, 0.166561, 0.152880}});
}

const Matrix kCausalHead = {{-0.451920, 0.221605},  {-0.587435, 0.005776},  {-0.630023, -0.063183},
                            {-0.567457, -0.084253}, {-0.552562, -0.098068}, {-0.529901, -0.108068}};

TEST(ExplainNumbers, CausalHead) {
  expect_matrix(Answer({"--heads", "1", "--causal"}).matrix("/context"), kCausalHead);
  expect_matrix(Answer({"--heads", "1"}).matrix("/context"), {{-0.533739, -0.105092},
                                                              {-0.532323, -0.107970},
                                                              {-0.532322, -0.107925},
                                                              {-0.529707, -0.107589},
                                                              {-0.531051, -0.106597},
                                                              {-0.529901, -0.108068}});
}

TEST(ExplainNumbers, TwoHeadsSideBySide) {
  const Answer answer({"--heads", "2", "--causal"});
  expect_matrix(answer.matrix("/heads/1/wq"),
                {{-0.13615718, 0.10756379}, {0.18532234, 0.15787685}, {0.40826952, 0.55729234}}, 5.1e-9);
  expect_matrix(answer.matrix("/heads/0/context"), kCausalHead);
  expect_matrix(answer.matrix("/heads/1/context"), {{0.477196, 0.106348},
                                                    {0.589073, 0.325661},
                                                    {0.620196, 0.385963},
                                                    {0.547769, 0.358925},
                                                    {0.532089, 0.342797},
                                                    {0.507653, 0.349349}});
}

TEST(ExplainNumbers, HeadsCutFromOneLayerWithOutputProjection) {
  const Answer answer({"--heads", "2", "--causal", "--project"});
  expect_matrix(answer.matrix("/wo"), {{-0.16675782, 0.50002593}, {0.22697258, 0.13173825}}, 5.1e-9);
  expect_matrix(answer.matrix("/context"), {{-0.451920, 0.221605},
                                            {-0.588925, 0.012245},
                                            {-0.631329, -0.057555},
                                            {-0.568469, -0.083234},
                                            {-0.554060, -0.096409},
                                            {-0.531105, -0.107728}});
  expect_matrix(answer.matrix("/output"), {{0.319018, 0.485763},
                                           {0.294346, 0.389676},
                                           {0.285575, 0.359278},
                                           {0.269264, 0.387327},
                                           {0.263871, 0.392796},
                                           {0.257474, 0.402783}});
}

TEST(ExplainText, ShowsEveryStepIn80PlainColumns) {
  const std::vector<std::vector<std::string>> commands = {{"explain"},
                                                          {"explain", "--causal"},
                                                          {"explain", "--trainable"},
                                                          {"explain", "--heads", "2", "--causal"},
                                                          {"explain", "--heads", "8"},
                                                          {"explain", "--heads", "3", "--project"},
                                                          {"explain", "--query", "step"}};
  for (const auto& command : commands) {
    const Finished done = run_program(command);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));
    for (std::size_t at = 0; at < done.out.size();) {
      const std::size_t end = done.out.find('\n', at);
      EXPECT_LE(draw::display_width(std::string_view(done.out).substr(at, end - at)), 80);
      at = end + 1;
    }
  }
  const std::string simple = run_program({"explain"}).out;
  for (const char* text :
       {"Your [journey] starts with one step", "0.55×0.57 + 0.87×0.85 + 0.66×0.64 = 1.4754", "1.4950",
        "0.1385", "0.2379", "(0.4419, 0.6515, 0.5683)", "0.4421  0.5931  0.5790",
        "headlight explain --trainable"}) {
    EXPECT_THAT(simple, HasSubstr(text));
  }
  EXPECT_EQ(run_program({"explain", "--simple"}).out, simple);
  EXPECT_THAT(run_program({"explain", "--trainable"}).out,
              HasSubstr("1.2705   1.8524   1.8111   1.0795   0.5577   1.5440"));
}

TEST(ExplainText, ColourOnlyWhenAsked) {
  Launch always{.arguments = {"explain", "--color", "always"}};
  EXPECT_THAT(run_program(always).out, HasSubstr("\x1b[38;5;"));
  always.environment.emplace_back("COLORTERM=truecolor");
  EXPECT_THAT(run_program(always).out, HasSubstr("48;2;"));
  always.environment.emplace_back("NO_COLOR=1");
  EXPECT_THAT(run_program(always).out, HasSubstr("48;2;"));  // the flag decides
  always.arguments.back() = "never";
  EXPECT_THAT(run_program(always).out, Not(HasSubstr("\x1b")));
  Launch latin{.arguments = {"explain", "--heads", "2", "--causal", "--project"},
               .environment = {"LC_ALL=de_DE.ISO-8859-1"}};
  for (const char c : run_program(latin).out) ASSERT_EQ(static_cast<unsigned char>(c) & 0x80U, 0U);
}

class ExplainInput : public ::testing::Test {
 protected:
  Finished run(std::string_view json, std::vector<std::string> more = {}) const {
    std::ofstream(folder_.path("in.json"), std::ios::binary) << json;
    more.insert(more.begin(), {"explain", "--input", folder_.path("in.json")});
    return run_program(more);
  }
  TempFolder folder_;
};

TEST_F(ExplainInput, OwnWords) {
  const Finished done =
      run(R"({"tokens": ["猫", "a\u001b[31mb", "x"], "vectors": [[1, 0], [0, 1.5e0], [2, -1]]})",
          {"--query", "x"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("猫"));
  EXPECT_THAT(done.out, HasSubstr("a\\x1b[31mb"));
  EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(done.out, HasSubstr("[x]"));
  EXPECT_EQ(run(R"({"vectors": [[1e6]], "tokens": ["one"]})").code, 0);
  EXPECT_EQ(run(R"({"vectors": [[1]], "tokens": ["one"]})", {"--query", "two"}).code, 2);
}

TEST_F(ExplainInput, ManyWordsAreCutNotBroken) {
  std::string tokens, vectors;
  for (int i = 0; i < 256; ++i) {
    tokens += std::string(i > 0 ? "," : "") + "\"w" + std::to_string(i) + "\"";
    vectors += std::string(i > 0 ? "," : "") + "[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1,1,1," +
               std::to_string(i) + "]";
  }
  const std::string json = "{\"tokens\":[" + tokens + "],\"vectors\":[" + vectors + "]}";
  for (const char* flag : {"--simple", "--trainable", "--causal"}) {
    const Finished done = run(json, {flag, "--query", "w200"});
    EXPECT_EQ(done.code, 0);
    EXPECT_THAT(done.out, HasSubstr("shown; --json lists all"));
    EXPECT_THAT(done.out, HasSubstr("▸ w200"));
  }
}

TEST_F(ExplainInput, IsReadStrictly) {
  struct Case {
    std::string json, says;
  };
  const std::string deep(100000, '[');
  for (const Case& c :
       {Case{"", "not valid JSON"},
        Case{"[]", "expected an object"},
        Case{"{\"tokens\": [\"a\"]", "not valid JSON"},
        Case{R"({"tokens": ["a"]})", "\"vectors\" is missing"},
        Case{R"({"vectors": [[1]]})", "\"tokens\" is missing"},
        Case{R"({"tokens": ["a"], "vectors": [[1]], "x": 1})", "unknown entry \"x\""},
        Case{R"({"tokens": ["a"], "tokens": ["a"], "vectors": [[1]]})", "\"tokens\" occurs twice"},
        Case{R"({"tokens": ["a"], "vectors": [[1]]} x)", "not valid JSON"},
        Case{R"({"tokens": "a", "vectors": [[1]]})", "\"tokens\" is not a list"},
        Case{R"({"tokens": [], "vectors": []})", "at least one token"},
        Case{R"({"tokens": [""], "vectors": [[1]]})", "token 1"},
        Case{R"({"tokens": [1], "vectors": [[1]]})", "token 1"},
        Case{R"({"tokens": ["a"], "vectors": [1]})", "vector 1 is not a list"},
        Case{R"({"tokens": ["a"], "vectors": [[]]})", "at least one number"},
        Case{R"({"tokens": ["a"], "vectors": [["1"]]})", "vector 1, number 1"},
        Case{R"({"tokens": ["a"], "vectors": [[null]]})", "vector 1, number 1"},
        Case{R"({"tokens": ["a"], "vectors": [[NaN]]})", "not valid JSON"},
        Case{R"({"tokens": ["a"], "vectors": [[1e999]]})", "not valid JSON"},
        Case{R"({"tokens": ["a"], "vectors": [[1e7]]})", "-1e6 to 1e6"},
        Case{R"({"tokens": ["a", "b"], "vectors": [[1], [1, 2]]})", "vector 2 has 2 numbers, vector 1 has 1"},
        Case{R"({"tokens": ["a", "b"], "vectors": [[1]]})", "2 tokens but 1 vectors"},
        Case{"{\"tokens\": [\"\xff\"], \"vectors\": [[1]]}", "not valid JSON"},
        Case{deep, "not valid JSON"},
        Case{std::string(2 << 20, ' '), "too many"}}) {
    const Finished done = run(c.json);
    EXPECT_EQ(done.code, 3) << c.json.substr(0, 80) << "\n" << done.err;
    EXPECT_THAT(done.first_error_line(), HasSubstr("in.json: "));
    EXPECT_THAT(done.first_error_line(), HasSubstr(c.says)) << c.json.substr(0, 80);
    EXPECT_EQ(done.out, "");
  }
}

// What was typed at the question; nothing else is on standard input.
Finished predict(std::vector<std::string> arguments, const std::string& answer) {
  const TempFolder folder;
  std::ofstream(folder.path("answer")) << answer;
  arguments.insert(arguments.begin(), {"explain", "--predict"});
  Launch launch{.arguments = std::move(arguments)};
  const std::string path = folder.path("answer");
  launch.in_child = [path] { ::dup2(::open(path.c_str(), O_RDONLY), STDIN_FILENO); };
  return run_program(launch);
}

TEST(ExplainPredict, AsksBeforeTheScoresAndReveals) {
  const Finished right = predict({}, "journey\n");
  EXPECT_EQ(right.code, 0) << right.err;
  const std::size_t question = right.out.find("Guess: which word will \"journey\" give the largest weight?");
  ASSERT_NE(question, std::string::npos);
  EXPECT_THAT(right.out.substr(0, question), Not(HasSubstr("0.2379")));
  EXPECT_THAT(right.out.substr(0, question), HasSubstr("Embeddings"));
  EXPECT_THAT(right.out,
              HasSubstr("Right: \"journey\", with a weight of 0.2379. A word often matches itself"));
  EXPECT_THAT(right.out.substr(question), HasSubstr("Scores"));
  EXPECT_THAT(predict({}, "2").out, HasSubstr("Right: \"journey\""));
  EXPECT_THAT(predict({}, "starts").out,
              HasSubstr("Not this time: \"starts\" gets 0.2333. It is \"journey\""));
  EXPECT_THAT(predict({}, "").out, HasSubstr("No guess. It is \"journey\""));
  EXPECT_THAT(predict({}, "cat").out, HasSubstr("\"cat\" is none of these."));
  EXPECT_THAT(predict({"--causal", "--query", "starts"}, "6").out, HasSubstr("\"6\" is none of these."));
  EXPECT_THAT(predict({"--heads", "2", "--seed", "789"}, "1").out, HasSubstr("in head 1?"));
  EXPECT_EQ(run_program({"explain", "--predict", "--json"}).code, 2);
}

TEST(ExplainSaved, IsChangedAndReadBack) {
  const TempFolder folder;
  const std::string path = folder.path("mine.json");
  EXPECT_EQ(run_program({"explain", "--save-input", path}).code, 0);
  EXPECT_EQ(run_program({"explain", "--save-input", path}).code, 4);  // never over what is there
  const auto weights = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"explain", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string json = run_program(arguments).out;
    return json.substr(json.find("\"weights\""), 400);
  };
  EXPECT_EQ(weights({"--input", path}), weights({}));
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  text.replace(text.find("0.43"), 4, "0.99");
  std::ofstream(path) << text;
  EXPECT_NE(weights({"--input", path}), weights({}));
}

}  // namespace
}  // namespace headlight::testing
