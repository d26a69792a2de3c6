// headlight show: JSON, arrays, exact parts of long texts.
#include <fmt/format.h>
#include <sys/resource.h>

#include "cli/show_fixture.h"
#include "io/gzip.h"
#include "io/npy.h"
#include "support/places.h"
#include "support/sanitizers.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Show, Json) {
  const Finished done = show({"the cat sat", "--head", "1.0,0.1", "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(done.out).get(root), simdjson::SUCCESS) << done.out;
  EXPECT_EQ(std::string_view(root["text"]), "the cat sat");
  EXPECT_EQ(root["tokens"].get_array().size(), 5U);
  EXPECT_EQ(root["maps"].get_array().size(), 2U);
  EXPECT_EQ(std::int64_t(root.at_pointer("/maps/0/layer")), 0);
  EXPECT_EQ(std::int64_t(root.at_pointer("/maps/1/head")), 0);
  EXPECT_EQ(std::string_view(root.at_pointer("/maps/0/origin")), "exact");
  EXPECT_TRUE(root.at_pointer("/maps/0/weights/0/1").is_null());  // not visible is not zero
  double sum = 0;
  for (const simdjson::dom::element x : root.at_pointer("/maps/0/weights/4").get_array()) sum += double(x);
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(Show, Experts) {
  const std::string mixtral = source_folder() + "/tests/golden/mixtral";
  const std::vector<std::string> ask = {"--model", mixtral, "--ids", "3,9,4", "--experts"};
  const Finished page = show(ask);
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("2 of 4 experts for each token"));
  EXPECT_THAT(page.out, HasSubstr("layer 1"));
  std::vector<std::string> as_json = ask;
  as_json.insert(as_json.end(), {"--json", "-", "--layer", "1"});
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(show(as_json).out);
  EXPECT_EQ(root["layers"].get_array().size(), 1U);
  EXPECT_EQ(std::int64_t(root.at_pointer("/layers/0/layer")), 1);
  for (const simdjson::dom::element row : root.at_pointer("/layers/0/weights").get_array()) {
    double sum = 0;
    for (const simdjson::dom::element x : row.get_array()) sum += double(x);
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  const Finished none = show({"the cat", "--experts"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("has no experts"));
  const std::string folder = folder_.path("experts");
  EXPECT_EQ(show({"--model", mixtral, "--ids", "3,9,4", "--npy", folder, "--what", "experts"}).code, 0);
  EXPECT_EQ(io::read_npy(folder + "/decoder_0_router.npy").shape, (Shape{3, 4}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_1_experts.npy").shape, (Shape{3, 2}));
}

TEST_F(Show, Arrays) {
  const std::string folder = folder_.path("arrays");
  const Finished done = show({"the cat sat", "--npy", folder, "--what", "weights,q,residual"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(io::read_npy(folder + "/logits.npy").shape, (Shape{5, 29}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_1.npy").shape, (Shape{2, 5, 5}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_0_q.npy").shape, (Shape{2, 5, 8}));
  EXPECT_EQ(io::read_npy(folder + "/decoder_2_residual.npy").shape, (Shape{5, 16}));
  EXPECT_EQ(show({"the cat sat", "--npy", folder}).code, 4);  // never over what is there
  EXPECT_EQ(show({"the cat sat", "--npy", folder, "--force"}).code, 0);
  const std::string both = folder_.path("both");
  EXPECT_EQ(show({"the cat", "--model", "en-fr", "--target", "it was", "--npy", both}).code, 0);
  EXPECT_EQ(io::read_npy(both + "/cross_0.npy").shape, (Shape{2, 4, 4}));
  EXPECT_EQ(io::read_npy(both + "/encoder_1.npy").shape, (Shape{2, 4, 4}));
}

TEST_F(Show, TargetIdsAreTheDecodersInput) {
  simdjson::dom::parser parser;
  const Finished written =
      show({"the cat", "--model", "en-fr", "--target", "it was tired", "--part", "cross", "--json", "-"});
  std::string ids = "0";  // the small translator's decoder starts with token 0
  std::vector<std::int64_t> target;
  const simdjson::dom::element tree = parser.parse(written.out);
  for (const simdjson::dom::element token : tree["target_tokens"].get_array()) target.push_back(token["id"]);
  ASSERT_GT(target.size(), 3U);
  for (std::size_t i = 0; i + 1 < target.size(); ++i) ids += fmt::format(",{}", target[i]);
  const std::string a = folder_.path("a"), b = folder_.path("b");
  ASSERT_EQ(show({"the cat", "--model", "en-fr", "--target", "it was tired", "--npy", a}).code, 0);
  ASSERT_EQ(show({"the cat", "--model", "en-fr", "--target-ids", ids, "--npy", b}).code, 0);
  for (const char* name : {"/logits.npy", "/decoder_1.npy", "/cross_1.npy"})
    EXPECT_EQ(io::read_text(a + name), io::read_text(b + name)) << name;
  const Finished one =
      show({"the cat", "--model", "en-fr", "--target-ids", "0", "--part", "cross", "--json", "-"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(numbers_of(one.out).size(), 4U);  // the start token alone, on four tokens
}

TEST_F(Show, ScoresAndWeightedValues) {
  const std::string folder = folder_.path("of");
  ASSERT_EQ(show({"the cat sat", "--npy", folder, "--what", "weights,scores,v"}).code, 0);
  const Tensor scores = io::read_npy(folder + "/decoder_1_scores.npy").tensor,
               weights = io::read_npy(folder + "/decoder_1.npy").tensor,
               v = io::read_npy(folder + "/decoder_1_v.npy").tensor;
  const auto numbers = [&](const char* of) {
    const Finished done = show({"the cat sat", "--head", "1.1", "--of", of, "--json", "-"});
    EXPECT_THAT(done.out, HasSubstr("\"origin\": \"derived\""));
    return numbers_of(done.out);
  };
  const std::vector<double> from_scores = numbers("scores"), from_values = numbers("values");
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 5; ++j) {
      const auto at = static_cast<std::size_t>(5 * i + j);
      if (j > i) {
        EXPECT_TRUE(std::isnan(from_scores[at]) && std::isnan(from_values[at]));
        continue;
      }
      EXPECT_EQ(static_cast<float>(from_scores[at]), static_cast<float>(scores.at(1, i, j)));
      double length = 0;
      for (Index d = 0; d < 8; ++d) length += v.at(1, j, d) * v.at(1, j, d);
      EXPECT_NEAR(from_values[at], weights.at(1, i, j) * std::sqrt(length), 1e-6);
    }
  }
  refused({"the cat", "--of", "scores", "--query", "cat"}, 2, "show single heads");
  refused({"the cat", "--of", "scores", "--words"}, 2, "scores cannot be merged into words");
  refused({"the cat", "--of", "keys"}, 2, "one of weights|scores|values");
}

TEST_F(Show, MutedTokensAndRowsMadeWhole) {
  const std::vector<double> all = numbers_of(show({"the cat sat", "--head", "0.1", "--json", "-"}).out);
  const std::vector<double> some =
      numbers_of(show({"the cat sat", "--head", "0.1", "--mute-special", "--json", "-"}).out);
  const Finished done =
      show({"the cat sat", "--head", "0.1", "--mute-special", "--renormalize", "--json", "-"});
  const std::vector<double> whole = numbers_of(done.out);
  EXPECT_THAT(done.out, HasSubstr("renormalized"));
  for (std::size_t i = 1; i < 4; ++i) {
    const std::size_t row = 5 * i;
    EXPECT_TRUE(std::isnan(some[row]) && std::isnan(whole[row]));  // [CLS]
    double sum = 0, rest = 0;
    for (std::size_t j = 1; j <= i; ++j) rest += all[row + j];
    for (std::size_t j = 1; j <= i; ++j) {
      EXPECT_EQ(some[row + j], all[row + j]);
      EXPECT_NEAR(whole[row + j], all[row + j] / rest, 1e-6);
      sum += whole[row + j];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  EXPECT_TRUE(std::isnan(some[24]));  // [SEP]
  refused({"the cat", "--renormalize"}, 2, "--renormalize needs --mute-first");
}

TEST_F(Show, IdsInPlaceOfText) {
  EXPECT_EQ(show({"--ids", "2,5,23,24,3", "--head", "0.0"}).out, show({"the cat sat", "--head", "0.0"}).out);
  refused({"the", "--ids", "5"}, 2, "TEXT and --ids exclude each other");
  refused({"--ids", "5,x"}, 2, "--ids: \"5,x\" is not integers separated by commas");
  refused({"--ids", "5,29"}, 3, "token id 29 is not between 0 and 28");
}

TEST_F(Show, LongTextsInLittleMemory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's memory is its own";
  const std::string folder = folder_.path("long");
  std::filesystem::create_directory(folder);
  write_small_model(folder, SmallKind::decoder, {.context = 5000});
  std::string text;
  for (int i = 0; i < 4498; ++i) text += i % 3 == 0 ? "cat " : "sat ";
  Launch launch{
      .arguments = {"show", text, "--model", folder, "--all", "--color", "ascii", "--threads", "1"}};
  launch.in_child = [] {
    const rlimit limit{rlim_t{288} << 20, rlim_t{288} << 20};
    (void)::setrlimit(RLIMIT_AS, &limit);
  };
  const Finished done = run_program(launch);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("Pooled to fit"));
  const Finished one = run_program({"show", text, "--model", folder, "--head", "1.1", "--color", "ascii"});
  EXPECT_THAT(one.out, HasSubstr("each cell is the largest of"));
  const Finished row =
      run_program({"show", text, "--model", folder, "--head", "1.1", "--query", "@4000", "--top", "3"});
  EXPECT_THAT(row.out, HasSubstr(" others"));
}

TEST_F(Show, ExactTilesOfLongTexts) {
  const std::string folder = folder_.path("tiles");
  std::filesystem::create_directory(folder);
  write_small_model(folder, SmallKind::decoder, {.context = 1300});
  std::string text;
  for (int i = 0; i < 1200; ++i) text += i % 3 == 0 ? "cat " : "sat ";
  const Finished tile =
      show({text, "--model", folder, "--head", "1.1", "--from", "1100:1103", "--to", "0:4"});
  EXPECT_EQ(tile.code, 0) << tile.err;
  const Finished row = show({text, "--model", folder, "--head", "1.1", "--query", "@1101", "--json", "-"});
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(row.out).get(root), simdjson::SUCCESS);
  std::istringstream lines(tile.out);
  std::string line, label;
  for (int i = 0; i < 3; ++i) std::getline(lines, line);  // labels, token 1100, token 1101
  std::istringstream numbers(line);
  numbers >> label;
  for (std::size_t j = 0; j < 4; ++j) {
    double shown = -1;
    numbers >> shown;
    EXPECT_NEAR(shown, double(root["maps"].at(0)["weights"].at(0).at(j)), 5.1e-5);
  }
  EXPECT_THAT(show({text, "--model", folder, "--head", "1.1", "--from", "1100:1110", "--color", "ascii"}).out,
              HasSubstr("layer 1, head 1, from 1100:1110"));
  refused({"the cat", "--from", "3:9"}, 2, "--from 3:9: there are tokens 0 to 3");
  refused({"the cat", "--to", "3:1"}, 2, "--to: \"3:1\" is not FIRST:END");
  refused({"the cat", "--to", "0:2", "--words"}, 2, "--from and --to show exact weights");
}

}  // namespace
}  // namespace headlight::testing
