// headlight train --start and --adapter as a user runs them: a given model learns from files, all of it or an adapter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/gzip.h"
#include "io/json.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;

class FineTune : public ::testing::Test {
 protected:
  FineTune() {
    write_small_model(folder_.path("model"), SmallKind::decoder);
    std::ofstream text(folder_.path("street.txt"));
    for (int i = 0; i < 60; ++i) text << "the animal was too tired . the street was too wide .\n";
    std::ofstream lines(folder_.path("street.jsonl"));
    for (int i = 0; i < 60; ++i)
      lines << R"({"text": "the animal was too tired . the street was too wide ."})"
               "\n";
  }
  [[nodiscard]] Finished train(const std::string& run, const std::string& data,
                               std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"train",           "--start",          folder_.path("model"),
                                    "--data",          folder_.path(data), "--out",
                                    folder_.path(run), "--threads",        "1"};
    for (const char* setting : {"train.steps=30", "evaluation.every=10", "data.batch=4", "model.context=16",
                                "optimizer.warmup=2", "optimizer.learning_rate=0.01"}) {
      all.emplace_back("--set");
      all.emplace_back(setting);
    }
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  }
  [[nodiscard]] std::vector<double> losses(const std::string& run) const {
    std::vector<double> found;
    std::ifstream log(folder_.path(run + "/metrics.jsonl"));
    for (std::string line; std::getline(log, line);) {
      const io::Json entry = io::Json::parse(line, "metrics.jsonl");
      if (entry.find("valid_loss") != nullptr) found.push_back(entry.real("valid_loss"));
    }
    return found;
  }
  // Mean loss of the text under a model, by `evaluate`.
  [[nodiscard]] std::string evaluated(const std::string& model, const std::string& adapter = "") const {
    std::vector<std::string> all = {
        "evaluate", folder_.path("street.txt"), "--model", model, "--threads", "1", "--json"};
    if (!adapter.empty()) all.insert(all.end(), {"--adapter", adapter});
    const Finished done = run_program(all);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  }
  TempFolder folder_;
};

TEST_F(FineTune, AnAdapterLearnsAndIsUsed) {
  const Finished done = train("plays", "street.txt");
  ASSERT_EQ(done.code, 0) << done.err;
  const std::vector<double> loss = losses("plays");
  ASSERT_GE(loss.size(), 2U);
  EXPECT_LT(loss.back(), loss.front());
  const std::string best = folder_.path("plays/best");
  EXPECT_TRUE(std::filesystem::exists(best + "/adapter_config.json"));
  EXPECT_TRUE(std::filesystem::exists(best + "/adapter_model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(best + "/model.safetensors"))
      << "an adapter holds no copy of the model";
  // The folder alone names its model; an option names the adapter; both give the same numbers, other than the model's.
  const std::string alone = evaluated(best), beside = evaluated(folder_.path("model") + "+" + best);
  const auto nats = [](const std::string& json) {
    return io::Json::parse(json, "evaluate").list("results").items()[0].real("nats_per_token");
  };
  EXPECT_EQ(nats(alone), nats(beside));
  EXPECT_LT(nats(alone), nats(evaluated(folder_.path("model"))) - 0.1);
  EXPECT_EQ(evaluated(folder_.path("model"), best), beside);
  const Finished two = run_program({"evaluate", folder_.path("street.txt"), "--model", "en", "--model",
                                    folder_.path("model"), "--adapter", best});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("--adapter goes with one --model"));
}

TEST_F(FineTune, AnAdapterIsDescribedAndVerified) {
  ASSERT_EQ(train("plays", "street.txt").code, 0);
  const std::string best = folder_.path("plays/best");
  const Finished info = run_program({"info", best});
  EXPECT_THAT(info.out, HasSubstr(best + ": adapter folder, "));
  EXPECT_THAT(info.out, HasSubstr("  adapter       LoRA of rank 4, alpha 8, on "));
  EXPECT_THAT(info.out, HasSubstr("  for           " + folder_.path("model") + "\n"));
  const io::Json json = io::Json::parse(run_program({"info", best, "--json"}).out, "info");
  const io::Json& adapter = json.object("adapter");
  EXPECT_EQ(adapter.integer("rank"), 4);
  EXPECT_EQ(static_cast<std::size_t>(2 * adapter.integer("matrices")), json.list("tensors").items().size());
  const Finished valid = run_program({"verify", best});
  EXPECT_EQ(valid.code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("valid adapter folder\n  a LoRA adapter of rank 4 for "));
  std::ofstream(best + "/adapter_config.json") << R"({"peft_type": "LORA", "r": 5})";
  const Finished damaged = run_program({"verify", best});
  EXPECT_EQ(damaged.code, 3);
  EXPECT_THAT(damaged.err, HasSubstr("does not have rank 5"));
}

TEST_F(FineTune, AllParametersLearnFromLinesOfJson) {
  const Finished done = train("all", "street.jsonl", {"--all-parameters"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_LT(losses("all").back(), losses("all").front());
  EXPECT_TRUE(std::filesystem::exists(folder_.path("all/best/model.safetensors")));
  EXPECT_EQ(io::read_text(folder_.path("all/best/tokenizer.json")),
            io::read_text(folder_.path("model/tokenizer.json")));
}

TEST_F(FineTune, WhatIsMissingIsNamed) {
  std::vector<std::string> bare = {"train", "--start", folder_.path("model"), "--out", folder_.path("x")};
  const Finished no_data = run_program(bare);
  EXPECT_EQ(no_data.code, 2);
  EXPECT_THAT(no_data.err, HasSubstr("--data"));
  const Finished no_file = train("x", "absent.txt");
  EXPECT_EQ(no_file.code, 4);
  EXPECT_THAT(no_file.err, HasSubstr("absent.txt"));
  const Finished no_adapter = run_program(
      {"generate", "the animal", "--model", folder_.path("model"), "--adapter", folder_.path("nowhere")});
  EXPECT_EQ(no_adapter.code, 4);
  EXPECT_THAT(no_adapter.err, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace headlight::testing
