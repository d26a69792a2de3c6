// Guided attention, from words in a file to a head that looks where it is told. That its gradients are right is in
// tests/models/gradient_test.cc.
#include <gtest/gtest.h>

#include <fstream>

#include "headlight/error.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "text/spaced_words.h"
#include "train/corpus.h"
#include "train/run.h"
#include "train/word_links.h"

namespace headlight::train {
namespace {

using testing::expect_error;
using testing::TempFolder;

class Guided : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
    return folder_.path(name);
  }
  TempFolder folder_;
};

TEST(WordLinks, AreTokensWithoutMarksAtTheEnd) {
  const std::string text = "It left  the hedgehog, why?";
  EXPECT_EQ(text::count_spaced_words(text), 5);
  EXPECT_EQ(text::count_spaced_words(" "), 0);
  // It| left| |the| hedge|hog|,| why|?
  const std::vector<TokenSpan> tokens = {{1, 0, 2},   {2, 2, 7},   {3, 7, 8},   {4, 8, 12}, {5, 12, 18},
                                         {6, 18, 21}, {7, 21, 22}, {8, 22, 26}, {9, 26, 27}};
  const models::Link link = token_link(text, tokens, 0, 3);
  EXPECT_EQ(link.query, 0);
  EXPECT_EQ(link.key_begin, 4);
  EXPECT_EQ(link.key_end, 6);
  const models::Link back = token_link(text, tokens, 3, 4);
  EXPECT_EQ(back.query, 4);
  EXPECT_EQ(back.key_begin, 7);
  EXPECT_EQ(back.key_end, 8);
}

TEST_F(Guided, PairsWithLinksComeLast) {
  DataRecipe recipe;
  recipe.train = {file("a.tsv", "One\tUn\nTwo\tDeux\n")};
  recipe.valid_share = 0.5;
  recipe.linked = {file("b.tsv", "The dog ran, it was late.\tLe chien\t3\t1\t9\til\n")};
  const PairText text = DataReader().read_pairs(recipe);
  ASSERT_EQ(text.train.size(), 2U);
  EXPECT_EQ(text.valid.size(), 1U);
  EXPECT_EQ(text.train[1].second, "Le chien");
  ASSERT_EQ(text.links.size(), 1U);
  EXPECT_EQ(text.links[0].query, 3);
  EXPECT_EQ(text.links[0].key, 1);
  for (const char* line :
       {"a b\tc\t0\t2\n", "a b\tc\t-1\t1\n", "a b\tc\t0\n", "a b\tc\tx\t0\n", "a b\tc\t0\t1x\n"}) {
    recipe.linked = {file("c.tsv", std::string("One\tUn\t0\t0\n") + line)};
    expect_error([&] { (void)DataReader().read_pairs(recipe); }, ErrorKind::input, "data.form",
                 "need the number of a word of the first column, 0 to 1");
  }
}

std::string recipe_of(const std::string& linked, const std::string& guide,
                      const std::string& kind = "encoder-decoder") {
  return "[model]\nkind = \"" + kind + "\"\nwidth = 32\nlayers = 1\n" +
         (kind == "encoder-decoder" ? "encoder_layers = 2\nheads = 2\n" : "") +
         "[tokenizer]\nvocabulary = 300\n[data]\ntask = \"translation\"\ntrain = \"" + linked +
         "\"\nlinked = \"" + linked + "\"\nbatch_tokens = 600\n" + guide +
         "[optimizer]\nlearning_rate = 5e-3\nwarmup = 10\n[train]\nsteps = 120\n[evaluation]\nevery = 0\n"
         "[output]\nsave_every = 0\n";
}

TEST(GuidedRecipe, NamesAHeadAndPairs) {
  const auto read = [](const std::string& text) { return read_recipe(Settings::parse(text, "r.toml")); };
  const Recipe recipe = read(recipe_of("a.tsv", "[guide]\nhead = \"1.0\"\nweight = 2.5\n"));
  EXPECT_EQ(recipe.trainer.guide.layer, 1);
  EXPECT_EQ(recipe.trainer.guide.head, 0);
  EXPECT_EQ(recipe.trainer.guide.weight, 2.5);
  const auto refused = [&](const std::string& text, const std::string& words) {
    expect_error([&] { (void)read(text); }, ErrorKind::input, "recipe.value", words);
  };
  for (const char* head : {"1", "1.", ".1", "1.x", "-1.0", "1.0.0", "a"})
    refused(recipe_of("a.tsv", std::string("[guide]\nhead = \"") + head + "\"\n"), "is not LAYER.HEAD");
  refused(recipe_of("a.tsv", ""), "need each other");
  refused(
      "[model]\nkind = \"decoder\"\n[data]\ntask = \"language\"\ntrain = \"a\"\nlinked = "
      "\"b\"\n[guide]\nhead = \"0.0\"\n",
      "is for the task \"translation\"");
  refused(
      "[model]\nkind = \"encoder-decoder\"\n[data]\ntask = \"translation\"\ntrain = \"a\"\nlinked = "
      "\"b\"\nswap = true\n[guide]\nhead = \"0.0\"\n",
      "leave out data.swap");
}

// What "it" stands for follows from the last word: big things are first, small ones second.
std::string sentences() {
  const char* things[] = {"dog", "cat", "hen", "fox", "cow", "pig"};
  std::string text;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      for (const bool first : {true, false}) {
        if (i == j) continue;
        const std::string word = things[first ? i : j];
        text += std::string("the ") + things[i] + " saw the " + things[j] + " as it was " +
                (first ? "big" : "small") + ".\t" + word + "\t6\t" + (first ? "1" : "4") + "\n";
      }
  return text;
}

struct Steps : Listener {
  void on_step(const StepReport& report) override { all.push_back(report); }
  std::vector<StepReport> all;
};

TEST_F(Guided, AHeadLearnsWhereToLook) {
  const std::string path = file("linked.tsv", sentences());
  const auto link_loss = [&](int threads, const std::string& name) {
    Steps steps;
    Context ctx({.threads = threads});
    RunOptions options;
    options.folder = folder_.path(name);
    train::Run run(ctx, read_recipe(Settings::parse(recipe_of(path, "[guide]\nhead = \"1.1\"\n"), "r.toml")),
                   options, steps);
    const std::atomic<int> stop{0};
    (void)run.go(stop);
    EXPECT_GT(steps.all.front().links, 0);
    EXPECT_GT(steps.all.front().linked, 1);  // of about ten tokens, all alike: 2.3
    return steps.all.back().linked;
  };
  const double loss = link_loss(1, "one");
  EXPECT_LT(loss, 0.1);
  EXPECT_EQ(loss, link_loss(2, "two"));
}

TEST_F(Guided, RefusesAHeadThatIsNotThere) {
  const std::string path = file("linked.tsv", sentences());
  const auto refused = [&](const std::string& text, const char* code, const std::string& words) {
    expect_error(
        [&] {
          Steps steps;
          Context ctx({.threads = 1});
          RunOptions options;
          options.folder = folder_.path("run");
          const train::Run run(ctx, read_recipe(Settings::parse(text, "r.toml")), options, steps);
        },
        ErrorKind::usage, code, words);
  };
  refused(recipe_of(path, "[guide]\nhead = \"2.0\"\n"), "model.guide", "no layer 2: the encoder has 2");
  refused(recipe_of(path, "[guide]\nhead = \"0.2\"\n"), "model.guide", "no head 0.2");
  refused(recipe_of(path, "[guide]\nhead = \"0.0\"\n", "gru-seq2seq"), "recipe.guide",
          "only transformers have heads");
}

}  // namespace
}  // namespace headlight::train
