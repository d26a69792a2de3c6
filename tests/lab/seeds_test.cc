// The tutorials' claims, computed: every row that has a check holds, and the arithmetic behind them is right.
#include "lab/seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lab/arithmetic.h"
#include "lab/experiment.h"
#include "lab/scaling.h"
#include "support/errors.h"

namespace headlight::lab {
namespace {

using ::testing::HasSubstr;

TEST(LabSeeds, EveryCheckHolds) {
  int number = 0;
  for (const SeedRow& row : seed_rows()) {
    EXPECT_EQ(row.number, ++number);
    EXPECT_FALSE(row.claim.empty());
    EXPECT_FALSE(row.command.empty()) << number;
    EXPECT_FALSE(row.line.empty()) << number;
    EXPECT_FALSE(row.test.empty()) << number;
    if (row.check == nullptr) continue;
    const Found found = row.check();
    EXPECT_TRUE(found.right) << number << ": " << found.text;
    EXPECT_FALSE(found.text.empty());
  }
  EXPECT_EQ(number, 57);
}

TEST(LabSeeds, OneRowOrAll) {
  const Outcome all = run_seeds({}), one = run_seeds({.row = 32});
  EXPECT_TRUE(all.holds);
  EXPECT_THAT(all.text, HasSubstr("57 rows: "));
  EXPECT_THAT(all.text, HasSubstr("; 0 fail\n"));
  EXPECT_THAT(one.text, HasSubstr("softmax = 0.8808 0.1192"));
  EXPECT_THAT(one.text, HasSubstr("headlight lab seeds --row 32"));
  EXPECT_THAT(all.markdown, HasSubstr("| 57 | all |"));
  testing::expect_error([] { (void)run_seeds({.row = 58}); }, ErrorKind::usage, "lab.row",
                        "the rows are 1 to 57");
}

// What our own experiment contradicts is not said to hold, and a word on a page of ours is no computation.
TEST(LabSeeds, VerdictsSayWhatWasDone) {
  const ScalingEffect effect = scaling_effect(64);
  EXPECT_GT(effect.plain.gradient, effect.scaled.gradient);
  EXPECT_GT(effect.scaled.entropy, 5 * effect.plain.entropy);
  for (const SeedRow& row : seed_rows()) {
    if (row.number == 19 || row.number == 25) {
      EXPECT_EQ(row.verdict, Verdict::corrected) << row.number;
      EXPECT_THAT(row.check().text, HasSubstr("0.208"));
    }
    EXPECT_EQ(row.verdict == Verdict::definition, row.command.starts_with("docs/")) << row.number;
    if (row.verdict == Verdict::definition) { EXPECT_EQ(row.check, nullptr); }
  }
  EXPECT_THAT(run_seeds({}).text, HasSubstr("5 definitions; 0 fail"));
}

TEST(LabErrata, RightNumbersBesideTheWrongOnes) {
  const Outcome out = run_errata({.width = 200});
  for (const char* line : {"0.21 0.11 0.01 0.47 (sum 0.80)", "0.3175 0.0175 0.0013 0.6638 (sum 1.0000)",
                           "0.3771 0.2287 0.1873 0.2069 and 0.1796 0.3617 0.2961 0.1625",
                           "0.2643 0.2483 0.2422 0.2452 and 0.2413 0.2634 0.2569 0.2383", "score 1.4950",
                           "(0.480 0.436 0.796)", "0.1385 0.2379 0.2333"})
    EXPECT_THAT(out.text, HasSubstr(line));
}

TEST(LabRegistry, FindsByNameAndListsNames) {
  EXPECT_EQ(find_experiment("errata").name, "errata");
  testing::expect_error([] { (void)find_experiment("nothing"); }, ErrorKind::usage, "lab.name",
                        "no experiment \"nothing\"; there are: ");
}

TEST(LabArithmetic, SoftmaxSlopeAndEntropy) {
  const std::vector<double> even = softmax(std::vector<double>{1e4, 1e4});
  EXPECT_EQ(even, (std::vector<double>{0.5, 0.5}));
  EXPECT_NEAR(entropy(even), std::log(2.0), 1e-15);
  EXPECT_NEAR(largest_slope(even), 0.25, 1e-15);
  EXPECT_EQ(largest_slope(std::vector<double>{1, 0}), 0);
  EXPECT_EQ(digits(std::vector<double>{-1e-9, 0.12345, -2}), "0.0000 0.1235 -2.0000");
}

}  // namespace
}  // namespace headlight::lab
