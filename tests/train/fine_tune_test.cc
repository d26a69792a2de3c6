// Runs that begin with a model: sizes from its folder, adapters and all parameters, in one go and in pieces.
#include "train/fine_tune.h"
#include "support/places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "headlight/error.h"
#include "io/gzip.h"
#include "models/adapter_file.h"
#include "models/golden.h"
#include "models/load.h"
#include "support/errors.h"
#include "support/small_models.h"
#include "support/temp_folder.h"
#include "train/run.h"
#include "train/start_model.h"
#include "train/workbench.h"

namespace headlight::train {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::SmallKind;
using testing::TempFolder;

class FineTuning : public ::testing::Test {
 protected:
  FineTuning() {
    std::ofstream text(folder_.path("text.txt")), pairs(folder_.path("pairs.tsv")),
        lines(folder_.path("lines.jsonl"));
    for (int i = 0; i < 120; ++i) {
      text << "the cat sat on the mat , because it was too tired .\nharry potter lives here !\n";
      pairs << "the cat sat\tthe mat was here\nharry lives here\tpotter sat on it\n";
      lines << "{\"text\": \"the cat sat on the mat , because it was too tired .\"}\n";
    }
  }
  void write(SmallKind kind) { testing::write_small_model(folder_.path("base"), kind); }
  [[nodiscard]] FineTuneOptions options(const std::string& data, const std::string& out,
                                        Index rank = 2) const {
    FineTuneOptions o;
    o.train = {folder_.path(data)};
    o.out = folder_.path(out);
    o.rank = rank;
    o.alpha = 4;
    o.steps = 20;
    o.evaluate_every = 10;
    o.batch = 4;
    o.context = 16;
    return o;
  }
  [[nodiscard]] Recipe recipe(const std::string& data, Index rank,
                              const std::vector<std::string>& more = {}) const {
    Settings settings = fine_tune_settings(folder_.path("base"), options(data, "unused", rank));
    settings.set("output.save_every=4");
    for (const std::string& setting : more) settings.set(setting);
    return read_recipe(std::move(settings));
  }
  [[nodiscard]] std::string bytes(const std::string& name) const {
    return io::hash_text(io::read_text(folder_.path(name)));
  }

  TempFolder folder_;
  Context ctx_{{.threads = 1}};
};

TEST_F(FineTuning, AnAdapterLearnsAndTheModelStaysAsItIs) {
  for (const SmallKind kind :
       {SmallKind::decoder, SmallKind::rotary, SmallKind::encoder, SmallKind::translator}) {
    fs::remove_all(folder_.path("base"));
    fs::create_directories(folder_.path("base"));
    write(kind);
    const std::string before = bytes("base/model.safetensors");
    const std::string out = "run" + std::to_string(static_cast<int>(kind));
    FineTuneOptions o = options(kind == SmallKind::translator ? "pairs.tsv" : "text.txt", out);
    o.learning_rate = 0.02;
    const FineTuned tuned = fine_tune(ctx_, folder_.path("base"), o);
    EXPECT_LT(tuned.loss_after, 0.9 * tuned.loss_before) << out;
    EXPECT_LT(tuned.trained, 0.5 * tuned.parameters);  // of a tiny model
    EXPECT_EQ(bytes("base/model.safetensors"), before);
    EXPECT_TRUE(models::is_adapter(tuned.folder));
    EXPECT_FALSE(fs::exists(tuned.folder + "/model.safetensors"));
    EXPECT_EQ(models::AdapterFile(tuned.folder).base(), folder_.path("base"));
    EXPECT_NE(models::open_model(folder_.path("base"), {.adapter = tuned.folder}).transformer, nullptr);
    // The optimizer knows the adapter alone.
    const io::Safetensors state =
        io::Safetensors::open(folder_.path(out + "/step-00000020/training.safetensors"));
    for (const io::SafetensorsEntry& entry : state.entries())
      EXPECT_NE(entry.name.find(".lora_"), std::string::npos) << entry.name;
  }
}

TEST_F(FineTuning, AllParametersWithoutSizesInTheRecipe) {
  for (const SmallKind kind :
       {SmallKind::decoder, SmallKind::rotary, SmallKind::encoder, SmallKind::translator}) {
    fs::remove_all(folder_.path("base"));
    fs::create_directories(folder_.path("base"));
    write(kind);
    const std::string out = "all" + std::to_string(static_cast<int>(kind));
    FineTuneOptions o = options(kind == SmallKind::translator ? "pairs.tsv" : "lines.jsonl", out, 0);
    o.learning_rate = 0.01;
    const FineTuned tuned = fine_tune(ctx_, folder_.path("base"), o);
    EXPECT_LT(tuned.loss_after, 0.9 * tuned.loss_before) << out;
    EXPECT_EQ(tuned.trained,
              tuned.parameters - (kind == SmallKind::translator ? 29 : 0));  // Marian's fixed bias
    EXPECT_EQ(bytes("base/config.json"), bytes(out + "/best/config.json"));
    EXPECT_NE(models::open_model(tuned.folder).transformer, nullptr);
  }
}

// Files that must not depend on how a run was cut into pieces.
TEST_F(FineTuning, KilledAndResumedHasTheSameBits) {
  write(SmallKind::decoder);
  const std::vector<std::string> more = {"output.samples=[\"the cat\"]", "output.sample_tokens=5"};
  const auto train = [&](const std::string& out, std::int64_t stop, bool resume) {
    testing::Notes notes;
    notes.stop_at = stop;
    train::Run run(ctx_, recipe("text.txt", 2, more), {.folder = folder_.path(out), .resume = resume}, notes);
    return run.go(notes.stop);
  };
  EXPECT_EQ(train("whole", 0, false), Ending::finished);
  EXPECT_EQ(train("pieces", 7, false), Ending::signal);
  const auto made = fs::last_write_time(*fs::directory_iterator(folder_.path("pieces/tokens")));
  // As after SIGKILL: the signal's own checkpoint is not there, lines of later steps are.
  fs::remove_all(folder_.path("pieces/step-00000007"));
  std::ofstream(folder_.path("pieces/metrics.csv"), std::ios::app) << "6,half a li";
  EXPECT_EQ(train("pieces", 13, true), Ending::signal);
  EXPECT_EQ(train("pieces", 0, true), Ending::finished);
  EXPECT_EQ(fs::last_write_time(*fs::directory_iterator(folder_.path("pieces/tokens"))), made);
  for (const char* file : {"step-00000020/adapter_model.safetensors", "step-00000020/training.safetensors",
                           "step-00000020/adapter_config.json", "step-00000020/checkpoint.json",
                           "best/adapter_model.safetensors", "metrics.jsonl", "metrics.csv", "samples.jsonl"})
    EXPECT_EQ(bytes(std::string("whole/") + file), bytes(std::string("pieces/") + file)) << file;
  const std::string samples = io::read_text(folder_.path("whole/samples.jsonl"));
  EXPECT_NE(samples.find("{\"step\": 0, \"prompt\": \"the cat\", \"text\": \""), std::string::npos)
      << samples;
  EXPECT_EQ(std::count(samples.begin(), samples.end(), '\n'), 3);
  const std::string table = io::read_text(folder_.path("whole/metrics.csv"));
  EXPECT_EQ(table.substr(0, table.find('\n')),
            "step,loss,smoothed,learning_rate,gradient_norm,tokens,epochs,valid_loss,valid_accuracy,valid_"
            "bleu,link_loss");
  EXPECT_EQ(fs::file_size(folder_.path("whole/events.out.tfevents.headlight")),
            fs::file_size(folder_.path("pieces/events.out.tfevents.headlight")));
}

TEST_F(FineTuning, AnotherBaseIsRefused) {
  write(SmallKind::decoder);
  testing::Notes notes;
  notes.stop_at = 5;
  { (void)train::Run(ctx_, recipe("text.txt", 2), {.folder = folder_.path("run")}, notes).go(notes.stop); }
  std::fstream file(folder_.path("base/model.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end);
  file.write("\0\0\x80\x3F", 4);  // 1.0
  file.close();
  expect_error(
      [&] {
        train::Run(ctx_, recipe("text.txt", 2), {.folder = folder_.path("run"), .resume = true}, notes);
      },
      ErrorKind::input, "checkpoint.data", "has changed since the checkpoint");
}

TEST_F(FineTuning, TranslationsAreScored) {
  write(SmallKind::translator);
  testing::Notes notes;
  train::Run run(ctx_, recipe("pairs.tsv", 2, {"evaluation.bleu_pairs=4"}), {.folder = folder_.path("run")},
                 notes);
  (void)run.go(notes.stop);
  ASSERT_EQ(notes.evaluations.size(), 3U);  // the first is before any step
  EXPECT_EQ(notes.evaluations.front().step, 0);
  for (const Evaluation& evaluation : notes.evaluations) {
    ASSERT_TRUE(evaluation.bleu.has_value());
    EXPECT_GE(*evaluation.bleu, 0);
    EXPECT_LE(*evaluation.bleu, 100);
  }
  EXPECT_NE(io::read_text(folder_.path("run/metrics.jsonl")).find("\"valid_bleu\": "), std::string::npos);
}

TEST_F(FineTuning, RecipesMustAgreeWithTheModel) {
  write(SmallKind::rotary);
  const auto refused = [&](const std::string& setting, const std::string& words,
                           const char* code = "recipe.start") {
    testing::Notes notes;
    expect_error(
        [&] { train::Run(ctx_, recipe("text.txt", 2, {setting}), {.folder = folder_.path("run")}, notes); },
        ErrorKind::input, code, words);
  };
  refused("model.width=32", "model.width: the recipe sets 32, but");
  refused("model.layers=3", "has 2");
  refused("model.heads=4", "Sizes come from the model");
  refused("model.kind=encoder", "is of kind \"decoder\"");
  testing::Notes notes;
  expect_error(
      [&] {
        train::Run(ctx_, recipe("text.txt", 2, {"model.inner=999"}), {.folder = folder_.path("run")}, notes);
      },
      ErrorKind::usage, "recipe.model", "an adapter cannot change the architecture");
  expect_error(
      [&] {
        train::Run(ctx_, recipe("text.txt", 2, {"lora.targets=[\"q\"]"}), {.folder = folder_.path("run")},
                   notes);
      },
      ErrorKind::usage, "adapter.targets", "\"q\" is not a module of this model");
  expect_error(
      [] {
        (void)read_recipe(Settings::parse(
            "[model]\nkind = \"decoder\"\n[lora]\nrank = 2\n[data]\ntask = \"copy\"", "r.toml"));
      },
      ErrorKind::input, "recipe.value", "give model.start");
  expect_error([&] { (void)recipe("text.txt", 0, {"lora.alpha=3"}); }, ErrorKind::input, "recipe.value",
               "lora.rank: is 0");
}

// Whatever family can be opened can be trained, saved and opened again.
class EveryFamily : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFamily, IsTrainedFromItsFolder) {
  const TempFolder folder;
  const std::string path = testing::source_folder() + "/tests/golden/" + GetParam();
  const models::Golden golden(path);
  const models::TransformerConfig start = describe_start(path);
  const models::Batch batch = models::golden_batch(golden, start);
  Context ctx({.threads = 1});
  for (const Index rank : {Index{0}, Index{2}}) {
    Recipe recipe;
    recipe.lora = {rank, 4, {"attention", "feed_forward"}};
    recipe.model.start = path;
    const auto model = open_start(path, start, recipe);
    AdamW adam(model->parameters(), {});
    const double before = model->evaluate(ctx, batch).plain;
    for (int i = 0; i < 3; ++i) {
      (void)model->learn(ctx, batch, {.scale = 0.1});
      adam.step(ctx, 1e-2);
    }
    const double after = model->evaluate(ctx, batch).plain;
    EXPECT_LT(after, before);
    CheckpointParts parts;
    parts.model = model.get();
    const std::string name = rank > 0 ? "adapter" : "model";
    save_checkpoint(folder.path(""), name, parts, {});
    const auto opened =
        models::load_transformer(models::ModelFiles(rank > 0 ? path : folder.path(name)), start,
                                 {.weights = nn::Weights::own, .adapter = rank > 0 ? folder.path(name) : ""});
    EXPECT_EQ(opened.model->evaluate(ctx, batch).plain, after);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryFamily,
                         ::testing::Values("gpt2", "gpt_neo", "gpt_neox", "llama", "llama_bf16",
                                           "qwen2_sharded", "qwen3", "gemma", "gemma2", "gemma3", "mistral",
                                           "phi", "phi3", "bloom", "opt", "falcon", "bert", "distilbert",
                                           "roberta", "t5", "t5_gated", "marian", "bart"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace headlight::train
