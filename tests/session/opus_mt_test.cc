// Translations of an opus-mt folder, beside those of another implementation.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>

#include "headlight/model.h"
#include "headlight/write.h"
#include "io/json.h"
#include "support/shared_data.h"

namespace headlight {
namespace {

// Beams, the pad token that is never written, and the end that is forced, as generation_config.json says. The other
// implementation goes on after as many candidates as beams, and so finds better texts for nine sentences.
HEADLIGHT_SHARED_TEST(OpusMt, TranslationsOfAnotherImplementation) {
  const std::filesystem::path folder = *headlight::testing::shared_data() / "golden2/marian_opus";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no golden2";
  const Model model = Model::open(folder.string());
  Context ctx({.threads = 1});
  std::ifstream lines(folder / "translate.jsonl");
  int count = 0, same = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const io::Json json = io::Json::parse(line, "translate.jsonl");
    const std::string source = json.text("source");
    const Translation found = translate(ctx, model, std::span(&source, 1), {.max_tokens = 23}).at(0);
    EXPECT_LT(found.score, json.real("score") + 1e-4) << source;
    if (found.text != json.text("text")) continue;
    ++same;
    EXPECT_NEAR(found.score, json.real("score"), 1e-4) << source;
    EXPECT_EQ(found.ids.size() + 2, json.at("output_ids").items().size()) << source;
  }
  EXPECT_EQ(count, 20);
  EXPECT_GE(same, 11);
}

}  // namespace
}  // namespace headlight
