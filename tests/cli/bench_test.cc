// headlight bench as a user runs it: the form of its results and its refusals, never its times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/sanitizers.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace dom = simdjson::dom;

std::set<std::string> keys_of(dom::object object) {
  std::set<std::string> keys;
  for (const auto field : object) keys.emplace(field.key);
  return keys;
}

TEST(Bench, JsonHasEveryFieldAndNullForWhatDoesNotApply) {
  const Finished done =
      run_program({"bench", "--only", "tiny,small_causal", "--threads", "1", "--json", "-"});
  ASSERT_EQ(done.code, 0) << done.err;
  dom::parser parser;
  const dom::element found = parser.parse(done.out);
  EXPECT_EQ(keys_of(found),
            (std::set<std::string>{"peak_gflops", "dram_gbs", "targets", "buckets", "memory"}));
  EXPECT_EQ(keys_of(found["peak_gflops"]), std::set<std::string>{"1"});
  EXPECT_EQ(keys_of(found["dram_gbs"]), std::set<std::string>{"1"});
  EXPECT_GT(double(found["peak_gflops"]["1"]), 0);

  const dom::array buckets = found["buckets"];
  ASSERT_EQ(buckets.size(), 2U);
  const std::set<std::string> fields = {"name",
                                        "threads",
                                        "target",
                                        "ms",
                                        "us",
                                        "gflops",
                                        "gbs",
                                        "percent_of_limit",
                                        "ratio_to_unfused",
                                        "tokens_per_second"};
  for (const dom::element bucket : buckets) {
    EXPECT_EQ(keys_of(bucket), fields);
    EXPECT_EQ(std::int64_t(bucket["threads"]), 1);
    EXPECT_TRUE(bucket["gbs"].is_null());
  }
  EXPECT_EQ(dom::array(found["memory"]).size(), 0U);
  const dom::element tiny = buckets.at(0), small = buckets.at(1);
  EXPECT_EQ(std::string_view(tiny["name"]), "tiny");
  EXPECT_GT(double(tiny["us"]), 0);
  for (const char* field : {"ms", "gflops", "percent_of_limit"}) EXPECT_TRUE(tiny[field].is_null()) << field;
  EXPECT_EQ(std::string_view(small["name"]), "small_causal");
  EXPECT_TRUE(small["us"].is_null());
  for (const char* field : {"ms", "gflops", "percent_of_limit"}) EXPECT_GT(double(small[field]), 0) << field;
}

TEST(Bench, ModelsHaveTokensPerSecond) {
  const TempFolder folder;
  const std::string model = folder.path("tiny");
  ASSERT_EQ(run_program({"bench-model", "-o", model, "--shape", "tiny", "--dtype", "int8"}).code, 0);
  EXPECT_EQ(run_program({"bench-model", "-o", model, "--shape", "tiny"}).code, 4);
  EXPECT_EQ(run_program({"bench-model", "-o", folder.path("x"), "--shape", "huge"}).code, 2);
  const Finished done =
      run_program({"bench", "--only", "model_load,model_prefill,model_decode,model_tokenize", "--model",
                   model, "--threads", "1", "--json", "-"});
  ASSERT_EQ(done.code, 0) << done.err;
  dom::parser parser;
  const dom::array buckets = parser.parse(done.out)["buckets"];
  ASSERT_EQ(buckets.size(), 3U);  // there is no text to tokenize
  EXPECT_GT(double(buckets.at(0)["ms"]), 0);
  for (const char* field : {"ms", "gflops", "percent_of_limit", "tokens_per_second"})
    EXPECT_GT(double(buckets.at(1)[field]), 0) << field;
  for (const char* field : {"ms", "gbs", "percent_of_limit", "tokens_per_second"})
    EXPECT_GT(double(buckets.at(2)[field]), 0) << field;
}

// The numbers themselves, unlike times, do not depend on how busy the machine is.
TEST(Bench, MemoryStaysBelowItsLimitsSlow) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has memory of its own";
  const std::string both = "memory_forward_16384,memory_train_32768";
  const Finished done = run_program({"bench", "--only", both, "--threads", "2", "--json", "-"});
  ASSERT_EQ(done.code, 0) << done.err;
  dom::parser parser;
  const dom::element found = parser.parse(done.out);
  EXPECT_EQ(dom::array(found["buckets"]).size(), 0U);
  const dom::array rows = found["memory"];
  ASSERT_EQ(rows.size(), 2U);
  const double limits[] = {64, 200}, tensors[] = {16.8, 67.2};
  for (std::size_t i = 0; i < 2; ++i) {
    const dom::element row = rows.at(i);
    EXPECT_EQ(keys_of(row),
              (std::set<std::string>{"name", "threads", "tensors_mb", "grown_mb", "extra_mb", "limit_mb"}));
    EXPECT_EQ(double(row["limit_mb"]), limits[i]);
    EXPECT_NEAR(double(row["tensors_mb"]), tensors[i], 0.1);
    if (row["grown_mb"].is_null()) GTEST_SKIP() << "this system does not report";
    // At least its tensors, or what was measured is not this call's.
    EXPECT_GT(double(row["grown_mb"]), tensors[i] * 0.99);
    EXPECT_LT(double(row["grown_mb"]), limits[i]);
    EXPECT_NEAR(double(row["extra_mb"]), double(row["grown_mb"]) - double(row["tensors_mb"]), 0.01);
  }
}

TEST(Bench, TableNamesTheMachineAndTheBucket) {
  const TempFolder folder;
  const std::string json = folder.path("bench.json");
  const Finished done =
      run_program({"bench", "--only", "tiny", "--threads", "1", "--target", "scalar", "--json", json});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("headlight "));
  EXPECT_THAT(done.out, HasSubstr("SIMD target scalar"));
  EXPECT_THAT(done.out, HasSubstr("GFLOP/s"));
  EXPECT_THAT(done.out, HasSubstr("tiny "));
  EXPECT_EQ(done.err, "");  // progress is for terminals
  EXPECT_TRUE(std::filesystem::exists(json));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(Bench, ComparesTargetsInOneRun) {
  const Finished done = run_program(
      {"bench", "--only", "tiny", "--threads", "1", "--target", "scalar,auto,scalar", "--json", "-"});
  ASSERT_EQ(done.code, 0) << done.err;
  dom::parser parser;
  const dom::element found = parser.parse(done.out);
  const dom::array buckets = found["buckets"];
  const std::string best(std::string_view(buckets.at(buckets.size() - 1)["target"]));
  EXPECT_EQ(std::string_view(buckets.at(0)["target"]), "scalar");
  EXPECT_EQ(keys_of(found["targets"]), (std::set<std::string>{"scalar", best}));
  EXPECT_EQ(buckets.size(), best == "scalar" ? 1U : 2U);
  // Each is compared with the peak of its own instructions.
  if (best != "scalar")
    EXPECT_LT(double(found["targets"]["scalar"]["1"]), double(found["targets"][best.c_str()]["1"]));
}

TEST(Bench, GrowthStatesSlopesAndDrawsThem) {
  const TempFolder folder;
  const std::string svg = folder.path("growth.svg"), json = folder.path("growth.json");
  const Finished done = run_program({"bench", "--growth", "--longest", "256", "--svg", svg, "--json", json});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("attention, forward: time ~ size^"));
  EXPECT_THAT(done.out, HasSubstr("opening a model to its first token"));
  dom::parser parser;
  const dom::element growth = parser.load(json)["growth"];
  EXPECT_EQ(dom::array(growth.at(0)["points"]).size(), 3U);  // 64, 128, 256
  EXPECT_EQ(double(growth.at(0)["expected_slope"]), 2);
  EXPECT_GT(std::filesystem::file_size(svg), 1000U);
  EXPECT_EQ(run_program({"bench", "--growth", "--only", "tiny"}).code, 2);
  EXPECT_EQ(run_program({"bench", "--svg", folder.path("x.svg")}).code, 2);
  EXPECT_EQ(folder.entries(), 2);
}

// Some BLAS libraries wait for ever for memory that they do not get.
TEST(Bench, EndsWhenMemoryIsShort) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs its address space";
  for (const rlim_t megabytes : {60, 150, 300, 700}) {
    const Finished done =
        run_program({.arguments = {"bench", "--only", "tiny", "--threads", "1"}, .in_child = [=] {
                       const rlimit limit{megabytes << 20, megabytes << 20};
                       (void)::setrlimit(RLIMIT_AS, &limit);
                     }});
    EXPECT_TRUE(done.code == 0 || done.code == 5) << megabytes << " MB: " << done.code << "\n" << done.err;
  }
}

TEST(Bench, RefusesUnknownNamesAndListsTheKnownOnes) {
  for (const char* names : {"nope", "tiny,nope", "decode_4096_f64", "Tiny"}) {
    const Finished done = run_program({"bench", "--only", names});
    EXPECT_EQ(done.code, 2) << names;
    EXPECT_THAT(done.first_error_line(), StartsWith("error: bench: ")) << names;
    EXPECT_THAT(done.err, HasSubstr("causal_16384_64")) << names;
    EXPECT_EQ(done.out, "") << names;
  }
}

TEST(Bench, RefusesBadValues) {
  const std::vector<std::vector<std::string>> bad = {
      {"--threads", "0"},    {"--threads", "1,"}, {"--threads", "two"},  {"--threads", "1,-1"},
      {"--threads", "1e3"},  {"--threads", ""},   {"--threads", "9999"}, {"--only", ""},
      {"--only", ",tiny"},   {"--target", "mmx"}, {"--json", ""},        {"--unknown"},
      {"--target", "avx2,"}, {"--longest", "63"}, {"--longest", "x"}};
  for (const auto& arguments : bad) {
    std::vector<std::string> all = {"bench"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Finished done = run_program(all);
    EXPECT_EQ(done.code, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(done.first_error_line(), StartsWith("error: ")) << ::testing::PrintToString(arguments);
  }
}

TEST(Bench, KeepsAnExistingFileUnlessForced) {
  const TempFolder folder;
  const std::string json = folder.path("bench.json");
  std::ofstream(json) << "mine";
  const std::vector<std::string> call = {"bench", "--only", "tiny", "--threads", "1", "--json", json};
  EXPECT_EQ(run_program(call).code, 4);
  EXPECT_EQ(std::filesystem::file_size(json), 4U);
  std::vector<std::string> forced = call;
  forced.emplace_back("--force");
  EXPECT_EQ(run_program(forced).code, 0);
  EXPECT_GT(std::filesystem::file_size(json), 4U);
}

}  // namespace
}  // namespace headlight::testing
