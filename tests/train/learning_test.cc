// Learning is shown, not assumed: small versions of recipes/, with real models.
#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "train/run.h"

namespace headlight::train {
namespace {

// The accuracy on unseen sequences after training.
double accuracy(const std::string& text, int threads = 2) {
  struct Notes : Listener {
    void on_evaluation(const Evaluation& e) override { last = e.accuracy; }
    double last = 0;
  } notes;
  const testing::TempFolder folder;
  Recipe recipe = read_recipe(Settings::parse(text, "test.toml"));
  Context ctx({.threads = threads, .products = recipe.products});
  RunOptions options;
  options.folder = folder.path("run");
  Run run(ctx, std::move(recipe), options, notes);
  const std::atomic<int> stop{0};
  (void)run.go(stop);
  return notes.last;
}

std::string recipe(const std::string& kind, const std::string& model, const std::string& data, int steps) {
  return "[model]\nkind = \"" + kind + "\"\n" + model + "\n[data]\n" + data +
         "\n[optimizer]\nlearning_rate = 5e-3\nwarmup = 20\n" +
         "weight_decay = 0\n[train]\nsteps = " + std::to_string(steps) +
         "\n[evaluation]\nevery = 0\n[output]\nsave_every = 0\n";
}

TEST(Learning, ADecoderCopies) {
  EXPECT_GT(accuracy(recipe("decoder", "width = 32\nlayers = 2\nheads = 2",
                            "task = \"copy\"\nsymbols = 6\nlength = 4\nbatch = 24", 250)),
            0.9);
}

TEST(Learning, ADecoderCopiesInBf16) {
  std::string text = recipe("decoder", "width = 32\nlayers = 2\nheads = 2",
                            "task = \"copy\"\nsymbols = 6\nlength = 4\nbatch = 24", 250);
  text.replace(text.find("[train]"), 7, "[train]\nproducts = \"bf16\"");
  EXPECT_GT(accuracy(text), 0.9);
}

TEST(Learning, AnEncoderDecoderReverses) {
  EXPECT_GT(accuracy(recipe("encoder-decoder", "width = 32\nlayers = 1\nheads = 2",
                            "task = \"reverse\"\nsymbols = 6\nlength = 4\nbatch = 24", 250)),
            0.9);
}

TEST(Learning, ARecurrentNetworkWithAttentionReverses) {
  EXPECT_GT(accuracy(recipe("gru-seq2seq", "width = 32\nlayers = 1",
                            "task = \"reverse\"\nsymbols = 6\nlength = 3\nbatch = 24", 250)),
            0.8);
}

}  // namespace
}  // namespace headlight::train
