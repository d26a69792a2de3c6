// headlight show: what it prints, and what it says to a newcomer's mistakes.
#include "cli/show_fixture.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Show, NumbersInAPipe) {
  const Finished done = show({"the cat sat", "--head", "1.0"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("        [CLS]     the     cat     sat   [SEP]\n[CLS]  1.0000       -"));
  EXPECT_THAT(done.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(done.err, "");
}

TEST_F(Show, TextIsAnArgumentPipedOrBuiltIn) {
  EXPECT_EQ(show({"the cat sat", "--head", "0.0"}).out, show({"--head", "0.0"}, "the cat sat\n").out);
  const Finished street = show({"--head", "0.0", "--words"});
  EXPECT_THAT(street.out, HasSubstr("because"));
  EXPECT_THAT(street.out, HasSubstr("tired"));
}

TEST_F(Show, EveryLook) {
  const std::vector<std::string> base = {"the animal was too tired", "--head", "0.1", "--color"};
  const auto look = [&](const std::string& color, std::vector<std::string> environment = {}) {
    std::vector<std::string> arguments = base;
    arguments.push_back(color);
    const Finished done = show(arguments, "", std::move(environment));
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  EXPECT_THAT(look("always", {"COLORTERM=truecolor"}), HasSubstr("\x1b[38;2;"));
  EXPECT_THAT(look("always", {"COLORTERM=truecolor", "NO_COLOR=1"}), HasSubstr("▀"));
  EXPECT_THAT(look("256"), HasSubstr("\x1b[38;5;"));
  EXPECT_THAT(look("shades"), HasSubstr("█ 0.64–1"));
  for (const char c : look("ascii")) ASSERT_EQ(static_cast<unsigned char>(c) & 0x80U, 0U);
  EXPECT_EQ(look("never"), look("auto"));
  const Finished cut =
      show({"the animal was too tired, harry potter", "--head", "0.1", "--color", "ascii", "--caption", "x"});
  for (const char c : cut.out) ASSERT_EQ(static_cast<unsigned char>(c) & 0x80U, 0U);
}

TEST_F(Show, ChoosesAHeadAndSaysSo) {
  const Finished done = show({"the cat sat on the mat"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("times chance: the most distinctive link of 4 heads; --head L.H shows "
                                  "another one, --all shows all"));
  EXPECT_THAT(show({"the cat sat on the mat", "--query", "sat"}).err,
              HasSubstr("where \"sat\" attends most to another word"));
}

TEST_F(Show, BarsOfOneQuery) {
  const Finished done = show({"the cat sat on the mat", "--head", "1.1", "--query", "sat"});
  EXPECT_THAT(done.out, HasSubstr("  cat    0."));
  EXPECT_THAT(done.out, HasSubstr("  mat         -"));
  const Finished twice = show({"the cat sat on the mat", "--head", "1.1", "--query", "the"});
  EXPECT_THAT(twice.err, HasSubstr("\"the\" occurs 2 times: using the first (token 1)"));
  EXPECT_THAT(show({"the cat sat on the mat", "--head", "1.1", "--query", "the#2", "--color", "ascii"}).out,
              HasSubstr("exact"));
  EXPECT_THAT(
      show({"harry potter lives here", "--head", "1.1", "--query", "harry potter", "--color", "ascii"}).out,
      HasSubstr("derived: mean of 2 queries"));
}

TEST_F(Show, OneLinkInAllHeads) {
  const Finished done = show({"the cat sat", "--query", "sat", "--key", "cat"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("        0       1\n0  0."));
  EXPECT_THAT(show({"it was too tired", "--query", "tired", "--key", "too", "--color", "ascii"}).out,
              HasSubstr("derived: mean of 2 queries"));
  EXPECT_THAT(show({"tired was it", "--query", "it", "--key", "tired", "--color", "ascii"}).out,
              HasSubstr("derived: sum of 2 keys"));
}

TEST_F(Show, ListsAtlasMeansAndRollout) {
  const Finished tops = show({"the cat sat", "--query", "sat", "--by-head", "--top", "2"});
  EXPECT_THAT(tops.out, HasSubstr("0.0   "));
  EXPECT_THAT(tops.out, HasSubstr("1.1   "));
  EXPECT_THAT(show({"the cat sat", "--all"}).out, StartsWith("head  largest  from -> to\n0.0    "));
  EXPECT_THAT(show({"the cat sat", "--layer", "1", "--color", "ascii"}).out, StartsWith("1.0"));
  EXPECT_THAT(show({"the cat sat", "--mean", "layers", "--color", "ascii"}).out,
              StartsWith("all layers  derived: mean of 4 heads"));
  EXPECT_THAT(show({"the cat sat", "--mean", "heads", "--layer", "0", "--color", "ascii"}).out,
              StartsWith("layer 0  derived: mean of 2 heads"));
  EXPECT_THAT(show({"the cat sat", "--rollout", "--color", "ascii"}).out,
              StartsWith("all layers  derived: rollout over 2 layers"));
  EXPECT_THAT(show({"too tired", "--head", "0.0", "--words", "--color", "ascii"}).out,
              HasSubstr("derived: tokens merged into words"));
  EXPECT_THAT(
      show({"the cat sat", "--head", "0.0", "--mute-first", "--exclude-self", "--color", "ascii"}).out,
      HasSubstr("// hidden or left out"));
}

TEST_F(Show, PartsOfATranslator) {
  const std::vector<std::string> base = {"the cat sat", "--model", "en-fr", "--head", "0.0", "--part"};
  const auto part = [&](const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = base;
    arguments.push_back(name);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished done = show(arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  EXPECT_THAT(part("encoder"), HasSubstr("cat"));
  EXPECT_THAT(part("cross", {"--target", "on the mat", "--color", "ascii"}), HasSubstr("query (writing)"));
  EXPECT_THAT(part("cross", {"--target", "on the mat"}), HasSubstr("\nmat    0."));
  EXPECT_THAT(part("decoder", {"--target", "on the mat"}), HasSubstr("\nmat    0."));
  EXPECT_THAT(part("cross"), HasSubstr("cat"));  // its own translation
  EXPECT_THAT(show({"the cat sat", "--model", "bert"}).out, HasSubstr("cat"));
}

TEST_F(Show, FindsWordsBetweenPunctuationOfEveryKind) {
  for (const char* text : {"the cat—tired", "the 《tired》", "the “tired”…"})
    EXPECT_EQ(show({text, "--query", "tired"}).code, 0) << text;
  refused({"the cat—tired", "--query", "ire"}, 2, "is not in the text");
}

TEST_F(Show, WhatANewcomerDoesWrong) {
  refused({"the cat sat", "--query", "dog"}, 2,
          "\"dog\" is not in the text\n  The words are: [CLS] the cat sat [SEP]");
  refused({"the cat", "--head", "2.0"}, 2,
          "--head 2.0: the decoder attention of \"en\" has layers 0 to 1 and heads 0 to 1 in each");
  refused({"the cat", "--layer", "7"}, 2, "--layer 7: the decoder attention");
  refused({"the cat", "--head", "2"}, 2, "--head: \"2\" is not LAYER.HEAD");
  refused({"the cat", "--head", "-1.0"}, 2, "LAYER.HEAD");
  refused({"the cat", "--part", "cross"}, 2,
          "--part cross: \"en\" is a decoder alone; its only part is decoder");
  refused({"the cat", "--model", "gpt5"}, 4, "model \"gpt5\" was not found");
  refused({"the cat", "--model", "gpt5"}, 4, "Headlight does not download");
  refused({"the cat", "--model", "enn"}, 4, "model \"enn\" was not found; did you mean \"en\"?");
  refused({"the cat", "--target", "x"}, 2, "\"en\" is not an encoder-decoder");
  refused({"the cat", "--key", "cat"}, 2, "needs --query WORD");
  refused({"the cat", "--by-head"}, 2, "--by-head needs --query WORD");
  refused({"the cat", "--head", "0.0", "--all"}, 2, "exclude each other; give one of them");
  refused({"the cat", "--head", "0.0", "--rollout"}, 2, "leave out --head");
  refused({"the cat", "--by-head", "--query", "cat", "--svg", folder_.path("x.svg")}, 2, "has no figure");
  refused({"the cat", "--width", "wide", "--svg", folder_.path("x.svg")}, 2,
          "--width: \"wide\" is not a length such as 85mm");
  refused({"the cat", "--width", "1mm", "--svg", folder_.path("x.svg")}, 2,
          "width in mm 1 is not between 20 and 2000");
  refused({"the cat", "--what", "everything"}, 2, "a list from q,k,v,scores,weights,z,residual");
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  refused({text}, 3, "the text has 62 tokens; the model \"en\" reads at most 40");
  EXPECT_EQ(folder_.entries(), 1);  // the input alone
}

TEST_F(Show, FoldersThatAreNoModels) {
  const std::string folder = folder_.path("bin");
  std::filesystem::create_directory(folder);
  refused({"x", "--model", folder}, 3, "has no config.json, so it is not a model folder");
  std::filesystem::copy(models_->root() / "en/config.json", folder + "/config.json");
  std::ofstream(folder + "/pytorch_model.bin") << "x";
  refused({"x", "--model", folder}, 3, "has only pytorch_model.bin");
  refused({"x", "--model", folder}, 3, "save_pretrained");
  refused({"x", "--model", folder + "/config.json"}, 3, "is a file; give a model folder");
  std::filesystem::copy(models_->root() / "en/model.safetensors", folder + "/model.safetensors");
  refused({"x", "--model", folder}, 2, "has no tokenizer, so it cannot read text; give token ids with --ids");
  EXPECT_EQ(show({"--model", folder, "--ids", "1,2,3", "--head", "0.0"}).code, 0);
}

}  // namespace
}  // namespace headlight::testing
