#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "headlight/error.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "train/workbench.h"

namespace headlight::train {
namespace {

using testing::expect_error;
using testing::fingerprint;
using testing::small_config;
using testing::TempFolder;
using testing::Workbench;

const std::string kLast = "step-00000060";

TEST(Trainer, LearnsAndWritesEverythingDown) {
  const TempFolder folder;
  Workbench bench(folder.path("run"));
  EXPECT_EQ(bench.go(), Ending::finished);
  ASSERT_EQ(bench.notes.steps.size(), 60U);
  EXPECT_LT(bench.notes.steps.back().loss, 0.7 * bench.notes.steps.front().loss);
  EXPECT_NEAR(bench.notes.steps.front().loss, std::log(12), 0.1);
  EXPECT_EQ(bench.notes.steps.front().smoothed, bench.notes.steps.front().loss);
  EXPECT_EQ(bench.notes.steps.front().targets, 2 * 4 * 16);
  EXPECT_DOUBLE_EQ(bench.notes.steps[0].learning_rate, 0.01);
  EXPECT_DOUBLE_EQ(bench.notes.steps[59].learning_rate, 0.005);
  ASSERT_EQ(bench.notes.evaluations.size(), 3U);
  EXPECT_TRUE(bench.notes.evaluations.back().best);
  EXPECT_EQ(bench.notes.evaluations.back().targets, 399);
  // Another dropout for every batch of every step.
  std::vector<std::uint64_t> seeds = bench.model.dropout_seeds;
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(std::unique(seeds.begin(), seeds.end()), seeds.end());
  EXPECT_EQ(seeds.size(), 120U);
  // The newest two, and the best.
  EXPECT_EQ(bench.run.checkpoints(), (std::vector<std::string>{kLast, "step-00000050"}));
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/best/model.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("run/best/training.safetensors")));
  const io::Safetensors saved = io::Safetensors::open(folder.path("run/" + kLast + "/model.safetensors"));
  EXPECT_EQ(saved.load(saved.at("table.weight"), DType::f32).at(3, 4),
            bench.model.parameters()[0]->value.at(3, 4));
  std::ifstream metrics(folder.path("run/metrics.jsonl"));
  int lines = 0, evaluations = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    const io::Json json = io::Json::parse(line, "metrics");
    evaluations += json.find("valid_loss") != nullptr ? 1 : 0;
    EXPECT_GT(json.integer("step"), 0);
  }
  EXPECT_EQ(lines, 23);
  EXPECT_EQ(evaluations, 3);
}

TEST(Trainer, SameBitsOnAnyNumberOfThreadsAndInPieces) {
  const TempFolder folder;
  {
    Workbench whole(folder.path("whole"));
    (void)whole.go();
  }
  const std::string expected = fingerprint(folder.path("whole"), kLast);
  {
    Workbench threads(folder.path("threads"), small_config(), {}, 3);
    (void)threads.go();
  }
  EXPECT_EQ(fingerprint(folder.path("threads"), kLast), expected);
  // Stopped by signals at odd moments, gone on from what was saved.
  for (const std::int64_t stop : {7, 23, 40, 59}) {
    Workbench piece(folder.path("pieces"));
    EXPECT_EQ(piece.trainer.resume({}), stop > 7);
    piece.notes.stop_at = stop;
    EXPECT_EQ(piece.go(), Ending::signal);
    EXPECT_EQ(piece.trainer.progress().step, stop);
  }
  Workbench rest(folder.path("pieces"));
  EXPECT_TRUE(rest.trainer.resume({}));
  EXPECT_EQ(rest.go(), Ending::finished);
  EXPECT_EQ(fingerprint(folder.path("pieces"), kLast), expected);
  // Going on after the end does nothing.
  EXPECT_EQ(rest.go(), Ending::finished);
  EXPECT_EQ(rest.notes.steps.size(), 1U);
}

TEST(Trainer, ARunThatDiedGoesOnFromItsLastCheckpoint) {
  const TempFolder folder;
  {
    Workbench whole(folder.path("whole"));
    (void)whole.go();
    Workbench killed(folder.path("killed"));
    killed.notes.stop_at = 37;
    (void)killed.go();
  }
  // As if it had been killed after step 37: the signal's own checkpoint is not there, later lines are.
  std::filesystem::remove_all(folder.path("killed/step-00000037"));
  std::ofstream(folder.path("killed/metrics.jsonl"), std::ios::app) << "{\"step\": 39, \"lo";
  Workbench rest(folder.path("killed"));
  EXPECT_TRUE(rest.trainer.resume({}));
  EXPECT_EQ(rest.trainer.progress().step, 30);
  (void)rest.go();
  EXPECT_EQ(fingerprint(folder.path("killed"), kLast), fingerprint(folder.path("whole"), kLast));
  EXPECT_TRUE(rest.notes.notices.empty());
}

// The checkpoint is on the disk before its evaluation; who goes on from it evaluates first.
TEST(Trainer, AnEvaluationThatFailsLosesNoStep) {
  const TempFolder folder;
  TrainerConfig config = small_config();
  config.save_every = 0;
  {
    Workbench whole(folder.path("whole"), config);
    (void)whole.go();
    Workbench failing(folder.path("failing"), config);
    failing.model.evaluation_fails = true;
    expect_error([&] { (void)failing.go(); }, ErrorKind::input, "model.length", "an evaluation that fails");
    EXPECT_EQ(failing.run.checkpoints(), std::vector<std::string>{"step-00000020"});
  }
  {
    Workbench again(folder.path("failing"), config);
    EXPECT_TRUE(again.trainer.resume({}));
    EXPECT_EQ(again.trainer.progress().step, 20);
    again.notes.stop_at = 40;
    (void)again.go();
    EXPECT_EQ(again.notes.evaluations.front().step, 20);
    EXPECT_EQ(again.notes.evaluations.size(), 2U);
  }
  Workbench rest(folder.path("failing"), config);
  EXPECT_TRUE(rest.trainer.resume({}));
  EXPECT_EQ(rest.go(), Ending::finished);
  ASSERT_EQ(rest.notes.evaluations.size(), 1U);  // that of step 40 was done before the signal's checkpoint
  EXPECT_EQ(fingerprint(folder.path("failing"), kLast), fingerprint(folder.path("whole"), kLast));
}

TEST(Trainer, AverageIsWhatIsEvaluatedAndSaved) {
  const TempFolder folder;
  const AdamWConfig average{.average = 0.95};
  {
    Workbench bench(folder.path("run"), small_config(), average);
    bench.notes.stop_at = 30;
    (void)bench.go();
    const io::Safetensors saved = io::Safetensors::open(folder.path("run/step-00000030/model.safetensors"));
    EXPECT_EQ(saved.load(saved.at("bias"), DType::f32).at(2), bench.optimizer.states()[1].averaged.at(2));
    EXPECT_NE(saved.load(saved.at("bias"), DType::f32).at(2), bench.model.parameters()[1]->value.at(2));
  }
  Workbench rest(folder.path("run"), small_config(), average);
  EXPECT_TRUE(rest.trainer.resume({}));
  (void)rest.go();
  Workbench whole(folder.path("whole"), small_config(), average);
  (void)whole.go();
  EXPECT_EQ(fingerprint(folder.path("run"), kLast), fingerprint(folder.path("whole"), kLast));
}

TEST(Trainer, StopsEarlyAndStaysStopped) {
  const TempFolder folder;
  TrainerConfig config = small_config();
  config.schedule.peak = config.schedule.floor = 100;  // never gets better
  config.evaluate_every = 5;
  config.patience = 2;
  {
    Workbench bench(folder.path("run"), config);
    EXPECT_EQ(bench.go(), Ending::early);
    EXPECT_LT(bench.trainer.progress().step, 60);
    EXPECT_EQ(bench.trainer.progress().stale, 2);
  }
  Workbench again(folder.path("run"), config);
  EXPECT_TRUE(again.trainer.resume({}));
  EXPECT_EQ(again.go(), Ending::early);
  EXPECT_TRUE(again.notes.steps.empty());
}

TEST(Trainer, NonFiniteLossKeepsTheCheckpoint) {
  const TempFolder folder;
  Workbench bench(folder.path("run"));
  bench.model.break_after = 30;
  expect_error([&] { (void)bench.go(); }, ErrorKind::numeric, "train.diverged",
               "the loss is not finite at step 15");
  EXPECT_EQ(bench.run.checkpoints().front(), "step-00000010");
  Workbench rest(folder.path("other"));
  for (Parameter* parameter : rest.model.parameters()) parameter->value.as<float>()[0] = NAN;
  expect_error([&] { (void)rest.go(); }, ErrorKind::numeric, "train.diverged", "No checkpoint was saved yet");
}

TEST(Trainer, ClippingShortensTheStep) {
  const TempFolder folder;
  TrainerConfig config = small_config();
  config.clip = 1e-12;
  Workbench clipped(folder.path("run"), config, {.epsilon = 1});
  (void)clipped.go();
  EXPECT_NEAR(clipped.notes.steps.back().loss, clipped.notes.steps.front().loss, 0.05);
  EXPECT_GT(clipped.notes.steps.front().gradient_norm, 0.01);  // told as it was
}

}  // namespace
}  // namespace headlight::train
