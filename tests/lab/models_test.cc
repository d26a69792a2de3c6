// Experiments that look into the model we ship: what they find, in their quick form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "inspect/loaded_model.h"
#include "lab/experiment.h"
#include "lab/seeds.h"
#include "support/errors.h"
#include "support/places.h"

namespace headlight::lab {
namespace {

using ::testing::HasSubstr;

class OurModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new inspect::LoadedModel(inspect::open_model("en-fr", {testing::source_folder() + "/models"}));
  }
  static void TearDownTestSuite() { delete model_; }
  [[nodiscard]] static LabOptions quick() { return {.quick = true, .model = model_}; }
  static inspect::LoadedModel* model_;
};
inspect::LoadedModel* OurModel::model_ = nullptr;

class LabContext : public OurModel {};
class LabTranslation : public OurModel {};
class LabModelRows : public OurModel {};

TEST_F(LabContext, BankTellsRiverFromMoney) {
  double told = -1;
  LabOptions options = quick();
  options.progress = [&](double done, double total, std::string_view) { told = done / total; };
  const Outcome out = run_context(options);
  EXPECT_TRUE(out.holds) << out.text;
  EXPECT_THAT(out.finding, HasSubstr("more alike within a meaning than across"));
  EXPECT_THAT(out.json, HasSubstr("\"layer\": 4"));
  EXPECT_TRUE(out.figure.has_value());
  EXPECT_GE(told, 0);
  EXPECT_EQ(run_context(quick()).json, out.json);  // the same seed, the same shuffles
}

TEST_F(LabTranslation, AHeadAlignsWords) {
  const Outcome out = run_translation(quick());
  EXPECT_TRUE(out.holds) << out.text;
  EXPECT_THAT(out.finding, HasSubstr("from “chat” to “cat”"));
  EXPECT_THAT(out.finding, HasSubstr("from “tapis” to “mat”"));
  EXPECT_TRUE(out.figure.has_value());
}

TEST_F(LabModelRows, HoldWithTheModel) {
  for (const SeedRow& row : seed_rows()) {
    const std::set<int> with_model = {3, 8, 10, 24, 26, 54};
    if (!with_model.contains(row.number)) continue;
    const Found with = row.experiment(quick()), without = row.experiment({});
    EXPECT_TRUE(with.right) << with.text;
    EXPECT_THAT(without.text, HasSubstr("needs the model headlight-en-fr"));
  }
}

TEST(LabModels, SayWhatTheyNeed) {
  testing::expect_error([] { (void)run_context({}); }, ErrorKind::usage, "lab.model",
                        "needs a model with an encoder");
  testing::expect_error([] { (void)run_translation({}); }, ErrorKind::usage, "lab.model",
                        "needs a model that translates");
}

}  // namespace
}  // namespace headlight::lab
