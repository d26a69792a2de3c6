// headlight look: the first screen, made by the model that comes with the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "draw/text.h"
#include "io/gzip.h"
#include "support/shared_data.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr, ::testing::Not;

const std::string kModel = HEADLIGHT_SOURCE "/models/headlight-en-fr";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Look, ScreenIsComputedAndFits) {
  const Finished done = run_program({"look", "--model", kModel});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("headlight-en-fr, 9 M parameters, trained by us on Tatoeba"));
  EXPECT_THAT(done.out, HasSubstr("1  The cat sat on the mat. → Le chat"));
  EXPECT_THAT(done.out, HasSubstr("content words in sentences it was not chosen on"));
  EXPECT_THAT(done.out, HasSubstr("strongest of 32 heads for \"animal\" (uniform 0.08)"));
  EXPECT_THAT(done.out, HasSubstr("control \"too wide\": animal 0."));
  EXPECT_THAT(done.out, HasSubstr("✓ float64"));
  for (const std::string& line : lines_of(done.out)) EXPECT_LE(draw::display_width(line), 80) << line;
}

TEST(Look, TakesASentence) {
  const Finished done = run_program({"look", "She gave the book to him.", "--model", kModel});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("1  She gave the book to him. → Elle"));
  EXPECT_THAT(done.out, HasSubstr("\"him\" looks at"));
  EXPECT_THAT(done.out, Not(HasSubstr("control")));
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
