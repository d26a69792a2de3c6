// model.start with folders as hubs have them: buffers beside the parameters, more rows than tokens.
#include "train/start_weights.h"

#include <gtest/gtest.h>

#include <fstream>

#include "headlight/error.h"
#include "io/outputs.h"
#include "io/safetensors.h"
#include "models/tokenizer_file.h"
#include "models/transformer.h"
#include "support/errors.h"
#include "support/small_models.h"
#include "support/temp_folder.h"
#include "train/run.h"

namespace headlight::train {
namespace {

using testing::TempFolder;

constexpr Index kRows = 64;  // of a tokenizer of 29 tokens

struct Extra {
  std::string name;
  Shape shape;
};

void write_start(const std::string& folder, const std::vector<Extra>& extras) {
  models::Transformer model(
      models::gpt_config({.vocabulary = kRows, .width = 16, .layers = 1, .heads = 2, .context = 8}));
  model.initialize(5);
  models::save_tokenizer(testing::small_tokenizer(), folder, models::ExistingTokenizer::replace);
  std::ofstream(folder + "/config.json") << model.config_json();
  std::vector<io::NamedTensor> tensors;
  for (const Parameter* parameter : model.parameters())
    tensors.push_back({model.file_name(*parameter), parameter->value});
  std::vector<Tensor> kept;
  kept.reserve(extras.size());
  for (const Extra& extra : extras) tensors.push_back({extra.name, kept.emplace_back(extra.shape)});
  io::Outputs outputs(io::Existing::replace);
  outputs.reserve(folder + "/model.safetensors");
  io::write_safetensors(outputs, folder + "/model.safetensors", tensors);
  outputs.commit();
}

Recipe recipe_of(const TempFolder& folder, int steps) {
  return read_recipe(Settings::parse(
      "[model]\nkind = \"decoder\"\nwidth = 16\nlayers = 1\nheads = 2\ncontext = 8\n"
      "start = \"" +
          folder.path("start") + "\"\n[data]\ntask = \"language\"\nvalid_share = 0.2\nbatch = 2\ntrain = \"" +
          folder.path("text") + "\"\n[train]\nsteps = " + std::to_string(steps) + "\n",
      "r.toml"));
}

TEST(StartWeights, PaddedVocabulariesAndBuffersOfTheHub) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat, because it was too tired.\n";
  std::ofstream(folder.path("text")) << text;
  write_start(folder.path("start"), {{"transformer.h.0.attn.bias", {1, 1, 8, 8}},
                                     {"transformer.h.0.attn.masked_bias", {1}},
                                     {"transformer.h.0.attn.rotary_emb.inv_freq", {4}}});
  Context ctx({.threads = 1});
  Listener listener;
  const std::atomic<int> stop{0};
  {
    train::Run run(ctx, recipe_of(folder, 2), {.folder = folder.path("run")}, listener);
    EXPECT_EQ(run.go(stop), Ending::finished);
  }
  EXPECT_EQ(stored_vocabulary(folder.path("run/step-00000002")), kRows);
  // The start is not needed any more.
  std::filesystem::remove_all(folder.path("start"));
  train::Run run(ctx, recipe_of(folder, 3), {.folder = folder.path("run"), .resume = true}, listener);
  EXPECT_TRUE(run.resumed());
  EXPECT_EQ(run.go(stop), Ending::finished);
}

TEST(StartWeights, OtherTensorsAreStillRefused) {
  const TempFolder folder;
  std::ofstream(folder.path("text")) << "the cat sat on the mat , the cat sat on the mat . the cat sat on it";
  write_start(folder.path("start"), {{"transformer.h.0.attn.c_extra.bias", {4}}});
  Context ctx({.threads = 1});
  Listener listener;
  testing::expect_error(
      [&] { train::Run(ctx, recipe_of(folder, 2), {.folder = folder.path("run")}, listener); },
      ErrorKind::input, "model.unused", "c_extra.bias\" is not used by this architecture");
}

}  // namespace
}  // namespace headlight::train
