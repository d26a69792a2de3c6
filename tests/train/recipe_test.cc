#include "train/recipe.h"

#include <gtest/gtest.h>

#include "headlight/error.h"
#include "support/errors.h"

namespace headlight::train {
namespace {

using testing::expect_error;

const std::string kSmall = R"(
seed = 7
[model]
kind = "decoder"
width = 128
layers = 4
heads = 4
[data]
task = "language"
train = "a.txt"
[optimizer]
learning_rate = 1
)";

Recipe read(const std::string& text) { return read_recipe(Settings::parse(text, "r.toml")); }

TEST(Recipe, ReadsAndFillsIn) {
  const Recipe recipe = read(kSmall);
  EXPECT_EQ(recipe.model.kind, "decoder");
  EXPECT_EQ(*recipe.model.width, 128);
  EXPECT_FALSE(recipe.model.inner.has_value());
  EXPECT_EQ(recipe.data.train, std::vector<std::string>{"a.txt"});
  EXPECT_EQ(recipe.trainer.seed, 7U);
  EXPECT_EQ(recipe.trainer.schedule.peak, 1);
  EXPECT_EQ(recipe.trainer.schedule.floor, 0.1);
  bool found = false;
  for (const auto& [key, value] : recipe.facts) found |= key == "optimizer.beta2" && value == "0.999";
  EXPECT_TRUE(found);
}

TEST(Recipe, SetOverrides) {
  Settings settings = Settings::parse(kSmall, "r.toml");
  settings.set("model.width=256");
  settings.set("model.kind=llama");
  settings.set("data.train=[\"b.txt\", \"c.txt\"]");
  settings.set("optimizer.learning_rate=3e-4");
  settings.set("data.swap=true");
  settings.set("model.heads=");
  settings.set("train.products=bf16");
  const Recipe recipe = read_recipe(std::move(settings));
  EXPECT_EQ(*recipe.model.width, 256);
  EXPECT_EQ(recipe.model.kind, "llama");
  EXPECT_EQ(recipe.data.train.size(), 2U);
  EXPECT_EQ(recipe.trainer.schedule.peak, 3e-4);
  EXPECT_TRUE(recipe.data.swap);
  EXPECT_FALSE(recipe.model.heads.has_value());
  EXPECT_EQ(recipe.products, Products::bf16);
  EXPECT_EQ(read(kSmall).products, Products::exact);
  EXPECT_EQ(read(kSmall + "[train]\nproducts = \"rounded\"").products, Products::rounded);
  Settings bad = Settings::parse(kSmall, "r.toml");
  for (const char* text : {"", "=", "=1", "width", "model width=1", "Model=1"})
    expect_error([&] { bad.set(text); }, ErrorKind::usage, "recipe.set", "is not KEY=VALUE");
}

TEST(Recipe, RefusesWhatItDoesNotKnow) {
  const auto refused = [](const std::string& more, const std::string& words) {
    expect_error([&] { (void)read(kSmall + more); }, ErrorKind::input,
                 words.find("closest") != std::string::npos ? "recipe.key" : "recipe.value", words);
  };
  refused("lerning_rate = 1",
          "no setting is called \"optimizer.lerning_rate\"; the closest is \"optimizer.learning_rate\"");
  refused("[training]\nsteps = 3", "the closest is \"train.steps\"");
  refused("[train]\nsteps = \"many\"", "train.steps: must be an integer");
  refused("[train]\nsteps = 0", "0 is not between 1 and");
  refused("[train]\nsteps = 1.5", "must be an integer");
  refused("[train]\nclip = -1", "-1 is not a number of 0 or more");
  refused("[train]\nclip = nan", "is not a number of 0 or more");
  refused("[train]\nclip = inf", "is not a number of 0 or more");
  refused("[train]\nlabel_smoothing = 1", "1 is not between 0 and 0.9");
  refused("[train]\nproducts = \"bf15\"", "did you mean \"bf16\"?");
  refused("schedule = \"cosin\"", "did you mean \"cosine\"?");
  refused("min_learning_rate = 2", "is above optimizer.learning_rate");
  refused("[output]\nwatch = [1, 2]", "must be a string or a list of strings");
  refused("[output]\nwatch = [\"a\", 2]", "a list may contain only strings or only numbers");
  refused("[output]\nwatch = [1, \"a\"]", "a list may contain only strings or only numbers");
  refused("[output]\nwatch = 2000-01-01", "dates and times");
  expect_error([&] { (void)read("[model]\nkind = \"decoder\"\n"); }, ErrorKind::input, "recipe.value",
               "data.task: is missing");
  expect_error([&] { (void)read("x = = 2"); }, ErrorKind::input, "recipe.form", "(line 1)");
  expect_error([&] { (void)read("a = 1\na = 2"); }, ErrorKind::input, "recipe.form", "(line 2)");
}

TEST(Recipe, ChecksThatTheDataFitsTheTask) {
  const auto refused = [](const std::string& data, const std::string& words) {
    expect_error([&] { (void)read("[model]\nkind = \"decoder\"\n[data]\n" + data); }, ErrorKind::input,
                 "recipe.value", words);
  };
  refused("task = \"language\"", "names no training file");
  refused("task = \"translation\"", "names no file with pairs");
  refused("task = \"translation\"\ntrain = \"a\"\ntrain_source = \"b\"\ntrain_target = \"c\"", "not both");
  refused("task = \"translation\"\ntrain_source = [\"b\"]", "as many files");
  refused("task = \"copy\"\ntrain = \"a\"", "generates its own data");
  refused("task = \"language\"\ntrain = \"a\"\nvalid = \"b\"\nvalid_share = 0.1", "is given already");
  refused("task = \"copy\"\nweights = [1]", "is for the task \"language\"");
  refused("task = \"copy\"\nrepeat_share = 0.5", "is for the task \"language\"");
  refused("task = \"copy\"\nsplit_share = 0.1", "is for the task \"translation\"");
  refused("task = \"language\"\ntrain = [\"a\", \"b\"]\nweights = [1]", "as many numbers");
  refused("task = \"language\"\ntrain = [\"a\"]\nweights = [0]", "0 is not between");
  refused("task = \"language\"\ntrain = [\"a\"]\nweights = [\"x\"]", "must be a list of numbers");
  refused("task = \"language\"\ntrain = \"a\"\nweights = [1.5]\nvalid_share = 0.1", "needs data.valid");
  refused("task = \"language\"\ntrain = \"a\"\nrepeat_share = 0.5", "needs data.separator");
}

TEST(Recipe, AModelToBeginWithBringsItsTokenizer) {
  const std::string start = "[model]\nkind = \"decoder\"\nstart = \"m\"\n[data]\ntask = \"copy\"\n";
  EXPECT_EQ(read(start).model.start, "m");
  EXPECT_TRUE(read(start + "[tokenizer]\nelisions = true").tokenizer.elisions);
  for (const char* more : {"kind = \"bpe\"", "file = \"t.json\"", "vocabulary = 500"})
    expect_error([&] { (void)read(start + "[tokenizer]\n" + more); }, ErrorKind::input, "recipe.value",
                 "that model has its own tokenizer");
}

TEST(Recipe, FilesHaveWeights) {
  const Recipe recipe = read(
      "[model]\nkind = \"decoder\"\n[data]\ntask = \"language\"\ntrain = [\"a\", \"b\"]\nweights = [3, 0.5]\n"
      "separator = \"|\"\nrepeat_share = 0.25\n");
  EXPECT_EQ(recipe.data.weights, (std::vector<double>{3, 0.5}));
  EXPECT_EQ(recipe.data.repeat_share, 0.25);
}

}  // namespace
}  // namespace headlight::train
