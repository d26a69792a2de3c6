// Experiments that train models, in their quick form: the finding is there, and so are table, numbers and picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/json.h"
#include "lab/experiment.h"
#include "models/transformer.h"
#include "train/learner.h"
#include "train/synthetic_task.h"

namespace headlight::lab {
namespace {

using ::testing::HasSubstr;

Outcome quick(const char* name) {
  double last = 0;
  LabOptions options{.threads = 1, .quick = true};
  options.progress = [&](double done, double total, std::string_view) { last = done / total; };
  Outcome out = find_experiment(name).run(options);
  EXPECT_DOUBLE_EQ(last, 1);
  EXPECT_TRUE(out.holds) << out.finding << "\n" << out.text;
  EXPECT_TRUE(out.figure.has_value());
  EXPECT_FALSE(out.finding.empty());
  return out;
}

TEST(LabTraining, DistanceFavoursAttention) {
  const Outcome out = quick("distance");
  const io::Json json = io::Json::parse(out.json, "json");
  const auto accuracy = [&](std::size_t model) {
    return json.at("models").items()[model].at("accuracy").items()[1].real("mean");
  };
  EXPECT_GT(accuracy(0), 0.85);
  EXPECT_LT(accuracy(1), accuracy(0));
  EXPECT_LT(accuracy(2), accuracy(0));
  EXPECT_THAT(out.text, HasSubstr("gradient at the fact"));
  EXPECT_THAT(out.finding, HasSubstr("after 150 steps"));
}

TEST(LabTraining, OneVectorIsABottleneck) {
  const Outcome out = quick("bottleneck");
  const io::Json json = io::Json::parse(out.json, "json");
  const auto accuracy = [&](std::size_t model, std::size_t length) {
    return json.at("models").items()[model].at("accuracy").items()[length].real("mean");
  };
  EXPECT_GT(accuracy(1, 1), accuracy(0, 1) + 0.1);
  EXPECT_GT(accuracy(2, 1), accuracy(0, 1) + 0.1);
}

TEST(LabTraining, HeadsTakeOnRoles) {
  const Outcome out = quick("heads");
  EXPECT_THAT(out.finding, HasSubstr("Nobody assigns tasks"));
  EXPECT_THAT(out.text, HasSubstr("previous token"));
}

TEST(LabTraining, ScalingKeepsSoftmaxSoft) {
  const Outcome out = quick("scaling");
  EXPECT_THAT(out.text, HasSubstr("d = 256"));
  EXPECT_THAT(out.finding, HasSubstr("The gradient of the softmax is larger without 1/√d up to d = 64 ("));
}

TEST(LabTraining, ALearnerIsAPureFunctionOfItsSeed) {
  const train::SyntheticTask task({.symbols = 4, .length = 3, .rows = 4, .evaluation_rows = 8, .seed = 5});
  const auto losses = [&](int threads) {
    Context ctx({.threads = threads});
    auto model = std::make_unique<models::Transformer>(models::gpt_config({.vocabulary = task.vocabulary(),
                                                                           .width = 16,
                                                                           .layers = 1,
                                                                           .heads = 2,
                                                                           .context = task.longest_input()}));
    model->initialize(5);
    train::Learner learner(ctx, std::move(model), task, {.steps = 12});
    std::vector<double> all;
    while (!learner.finished()) all.push_back(learner.step());
    all.push_back(learner.accuracy(task));
    return all;
  };
  const std::vector<double> one = losses(1);
  EXPECT_EQ(one, losses(2));
  EXPECT_LT(one[11], one[0]);
}

}  // namespace
}  // namespace headlight::lab
