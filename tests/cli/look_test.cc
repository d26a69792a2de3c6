// headlight look: the first screen, made by the model that comes with the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "draw/text.h"
#include "io/gzip.h"
#include "support/places.h"
#include "support/shared_data.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr, ::testing::Not;

const std::string kModel = source_folder() + "/models/headlight-en-fr";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Look, ScreenIsComputedAndFits) {
  const Finished done = run_program({"look", "--model", kModel});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("headlight-en-fr, "));
  EXPECT_THAT(done.out, HasSubstr("1  The cat sat on the mat. → Le chat"));
  EXPECT_THAT(done.out, HasSubstr("% of 64 other words"));
  EXPECT_THAT(done.out, HasSubstr("2  What does \"it\" look at? Encoder head 5.4, right in "));
  EXPECT_THAT(done.out, HasSubstr("% of 40 new sentences"));
  EXPECT_THAT(done.out, HasSubstr("Without it: "));
  EXPECT_THAT(done.out, HasSubstr("3  By hand: it·animal "));
  EXPECT_THAT(done.out, HasSubstr("✓ float64"));
  const std::vector<std::string> lines = lines_of(done.out);
  EXPECT_LE(lines.size(), 24U);
  for (const std::string& line : lines) EXPECT_LE(draw::display_width(line), 80) << line;
}

// Colour changes no letter: without its escape codes the bars are whole.
TEST(Look, BarsAreWholeInColour) {
  const Finished done = run_program({"look", "--model", kModel, "--color", "always"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("animal 1.00 "));
  EXPECT_EQ(done.out.find("█…"), std::string::npos);
  EXPECT_EQ(done.out.find("▉…"), std::string::npos);
}

// A folder without sentences of known antecedents: the head in which "it" attends most to "animal" is shown, with no
// claim about other sentences.
TEST(Look, ChoosesAHeadWithoutSentencesToChooseOn) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("bare"));
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"})
    std::filesystem::copy_file(kModel + "/" + file, folder.path("bare") + "/" + file);
  const Finished done = run_program({"look", "--model", folder.path("bare")});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("2  What does \"it\" look at? Encoder head "));
  EXPECT_THAT(done.out, Not(HasSubstr("new sentences")));
  EXPECT_THAT(done.out, Not(HasSubstr("other words")));
  EXPECT_THAT(done.out, Not(HasSubstr("was trained to")));
}

TEST(Look, TakesASentence) {
  const Finished done = run_program({"look", "She gave the book to him.", "--model", kModel});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("1  She gave the book to him. → Elle"));
  EXPECT_THAT(done.out, HasSubstr("\"him\" looks at"));
  EXPECT_THAT(done.out, Not(HasSubstr("Without this head")));
}

TEST(Look, ModelsThatDoNotTranslateAreRefused) {
  const TempFolder folder;
  write_small_model(folder.path("writer"), SmallKind::decoder);
  const Finished done = run_program({"look", "--model", folder.path("writer")});
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err, HasSubstr("does not translate; headlight show"));
}

HEADLIGHT_SHARED_TEST(Look, SentenceOfTheScreenIsNotInTheTrainingData) {
  const auto shared = shared_data();
  const std::string text = io::read_text((*shared / "data/en-fr/tatoeba/train.tsv.gz").string());
  EXPECT_GT(text.size(), 1000000U);
  EXPECT_EQ(text.find("The cat sat on the mat"), std::string::npos);
}

}  // namespace
}  // namespace headlight::testing
