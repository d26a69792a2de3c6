// Split patterns by the names that GGUF files give them. The same on texts of many scripts, against other
// implementations: GgufCuts.* in tokenizer_gguf_test.cc.
#include "models/gguf_cuts.h"

#include <gtest/gtest.h>

#include <set>

#include "support/errors.h"
#include "text/pattern.h"

namespace headlight::testing {
namespace {

using Words = std::vector<std::string>;

Words words(const char* name, const std::string& text) {
  Words now = {text};
  for (const std::string& pattern : models::gguf_cut(name, "t.gguf").patterns) {
    const text::Finder finder({pattern, true});
    Words next;
    for (const std::string& word : now) {
      std::vector<text::Found> found;
      finder.find(word, {0, static_cast<std::uint32_t>(word.size())}, found);
      for (const text::Found& f : found)
        if (f.range.size() > 0) next.push_back(word.substr(f.range.begin, f.range.size()));
    }
    now = next;
  }
  return now;
}

TEST(GgufCut, SplitsAsTheModelsWereTrained) {
  const std::string text = "camelCase can't 12345 été?!\n\nxyz  日本語 e\u0301a";
  EXPECT_EQ(words("gpt-4o", text), (Words{"camel", "Case", " can't", " ", "123", "45", " été", "?!\n\n",
                                          "xyz", " ", " 日本語", " e\u0301a"}));
  EXPECT_EQ(words("tekken", text), (Words{"camel", "Case", " can", "'t", " ", "1", "2", "3", "4", "5", " été",
                                          "?!\n\n", "xyz", " ", " 日本語", " e\u0301a"}));
  EXPECT_EQ(words("qwen35", text), (Words{"camelCase", " can", "'t", " ", "1", "2", "3", "4", "5", " été",
                                          "?!\n\n", "xyz", " ", " 日本語", " e\u0301a"}));
  EXPECT_EQ(words("qwen2", text), (Words{"camelCase", " can", "'t", " ", "1", "2", "3", "4", "5", " été",
                                         "?!\n\n", "xyz", " ", " 日本語", " e", "\u0301a"}));
  EXPECT_EQ(words("smollm", "a12 b"), (Words{"a", "1", "2", " b"}));
  EXPECT_EQ(words("deepseek-v3", "x1234!if 日本語です。"),
            (Words{"x", "123", "4", "!if", " ", "日本語です", "。"}));
  EXPECT_EQ(words("deepseek-coder", "if x1:\n"), (Words{"if", " x", "1", ":", "\n"}));
  // Its class of signs, [!-/:-~], has the letters of ASCII in it.
  EXPECT_EQ(words("deepseek-llm", "Ça va, 12 한국"), (Words{"Ç", "a", " va", ",", " ", "12", " ", "한국"}));
  EXPECT_EQ(words("bloom", "Oui, 12 fois"), (Words{"Oui", ",", " 12", " fois"}));
  EXPECT_EQ(words("seed-coder", "a!\nb"), (Words{"a", "!", "\n", "b"}));
}

TEST(GgufCut, EveryPatternCompilesAndNamesAreGivenOnce) {
  std::set<std::string> names;
  for (const models::GgufCut& cut : models::gguf_cuts()) {
    for (const std::string& name : cut.names) EXPECT_TRUE(names.insert(name).second) << name;
    for (const std::string& pattern : cut.patterns)
      EXPECT_NO_THROW((void)text::Finder({pattern, true})) << pattern;
  }
  for (const char* name : {"llama4", "refact", "command-r", "jina-v2-code", "hunyuan", "glm4"})
    EXPECT_EQ(names.count(name), 1U) << name;
}

}  // namespace
}  // namespace headlight::testing
