#include "train/corpus.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "headlight/error.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::train {
namespace {

using testing::expect_error;
using testing::TempFolder;

class Corpora : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
    return folder_.path(name);
  }
  TempFolder folder_;
};

TEST_F(Corpora, DocumentsAndShares) {
  DataRecipe recipe;
  recipe.train = {file("a", "one\n<|end|>\n two <|end|><|end|>three<|end|>"), file("b", "four")};
  recipe.separator = "<|end|>";
  DataReader reader;
  const CorpusText all = reader.read_texts(recipe);
  EXPECT_EQ(all.train, (std::vector<std::string>{"one", "two", "three", "four"}));
  ASSERT_EQ(reader.files().size(), 2U);
  EXPECT_EQ(reader.files()[1].bytes, 4U);
  recipe.valid_share = 0.5;
  const CorpusText shared = DataReader().read_texts(recipe);
  EXPECT_EQ(shared.train, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(shared.valid, (std::vector<std::string>{"three", "four"}));
  DataRecipe one;
  one.train = {file("c", "0123456789")};
  one.valid_share = 0.2;
  const CorpusText text = DataReader().read_texts(one);
  EXPECT_EQ(text.train, std::vector<std::string>{"01234567"});
  EXPECT_EQ(text.valid, std::vector<std::string>{"89"});
}

TEST_F(Corpora, PairsInColumnsAndLineByLine) {
  DataRecipe recipe;
  recipe.train = {file("a.tsv", "Hi.\tSalut.\tCC BY\r\n\nGo!\tVa !\n")};
  recipe.valid_source = {file("v.en", "One\nTwo\n")};
  recipe.valid_target = {file("v.fr", "Un\r\nDeux")};
  PairText text = DataReader().read_pairs(recipe);
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(text.train, (std::vector<Pair>{{"Hi.", "Salut."}, {"Go!", "Va !"}}));
  EXPECT_EQ(text.valid, (std::vector<Pair>{{"One", "Un"}, {"Two", "Deux"}}));
  recipe.swap = true;
  text = DataReader().read_pairs(recipe);
  EXPECT_EQ(text.train[0], (Pair{"Salut.", "Hi."}));
  EXPECT_EQ(text.valid[1], (Pair{"Deux", "Two"}));
  DataRecipe share;
  share.train = recipe.train;
  share.valid_share = 0.5;
  text = DataReader().read_pairs(share);
  EXPECT_EQ(text.train.size(), 1U);
  EXPECT_EQ(text.valid.size(), 1U);
}

TEST_F(Corpora, RefusesWithTheCause) {  // K10
  const auto refused = [](const std::string& path, const std::string& words) {
    DataRecipe recipe;
    recipe.train = {path};
    expect_error([&] { (void)DataReader().read_texts(recipe); }, ErrorKind::input, "data.form", words);
  };
  refused(file("empty", ""), "empty: is empty");
  refused(file("latin", "caf\xe9"), "is not UTF-8 (byte 3)");
  const auto not_read = [](const std::string& path, const std::string& words, const char* code) {
    DataRecipe recipe;
    recipe.train = {path};
    expect_error([&] { (void)DataReader().read_texts(recipe); }, ErrorKind::file, code, words);
  };
  not_read(folder_.path("missing"), "No such file or directory", "file.open");
  not_read(folder_.root(), "is a folder, not a file", "file.kind");
  DataRecipe pairs;
  pairs.train = {file("one", "a\tb\nno tab\n")};
  expect_error([&] { (void)DataReader().read_pairs(pairs); }, ErrorKind::input, "data.form",
               "has no tab between two sentences (line 2)");
  DataRecipe uneven;
  uneven.train_source = {file("s", "1\n2\n")};
  uneven.train_target = {file("t", "1\n")};
  expect_error([&] { (void)DataReader().read_pairs(uneven); }, ErrorKind::input, "data.form",
               "has 1 lines; ");
}

}  // namespace
}  // namespace headlight::train
