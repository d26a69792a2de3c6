// Learning is shown, not assumed: small versions of recipes/, with real models.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/matrix_unit.h"
#include "support/temp_folder.h"
#include "train/run.h"

namespace headlight::train {
namespace {

struct Learnt {
  double accuracy = 0;         // on unseen sequences, after training
  std::vector<double> losses;  // of every step
};

Learnt learn(const std::string& text, int threads = 2) {
  struct Notes : Listener {
    void on_evaluation(const Evaluation& e) override { learnt.accuracy = e.accuracy; }
    void on_step(const StepReport& report) override { learnt.losses.push_back(report.loss); }
    Learnt learnt;
  } notes;
  const testing::TempFolder folder;
  Recipe recipe = read_recipe(Settings::parse(text, "test.toml"));
  Context ctx({.threads = threads, .products = recipe.products});
  RunOptions options;
  options.folder = folder.path("run");
  Run run(ctx, std::move(recipe), options, notes);
  const std::atomic<int> stop{0};
  (void)run.go(stop);
  return notes.learnt;
}

double accuracy(const std::string& text) { return learn(text).accuracy; }

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

// On a CPU that multiplies bf16 the losses are those of rounded products: close to the exact ones and not the same.
// On any other the setting changes no bit.
TEST(Learning, ADecoderCopiesInBf16) {
  const std::string exact = recipe("decoder", "width = 32\nlayers = 2\nheads = 2",
                                   "task = \"copy\"\nsymbols = 6\nlength = 4\nbatch = 24", 250);
  std::string text = exact;
  text.replace(text.find("[train]"), 7, "[train]\nproducts = \"bf16\"");
  const Learnt rounded = learn(text), whole = learn(exact);
  EXPECT_GT(rounded.accuracy, 0.9);
  const Context ctx({.threads = 1});
  if (kernels::bf16_kernels_for(ctx.target()) == nullptr) {
    EXPECT_EQ(rounded.losses, whole.losses);
    return;
  }
  EXPECT_NE(rounded.losses, whole.losses);
  const double distance = std::abs(rounded.losses.front() - whole.losses.front());
  EXPECT_GT(distance, 1e-7 * whole.losses.front());
  EXPECT_LT(distance, 1e-2 * whole.losses.front());
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
