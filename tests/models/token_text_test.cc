// Text from tokens that come one by one, for every kind of tokenizer.
#include <gtest/gtest.h>

#include "models/tokenizer_file.h"
#include "support/shared_data.h"
#include "text/text_stream.h"
#include "text/unicode.h"

namespace headlight::models {
namespace {

class TokenTexts : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenTexts, PiecesJoinToTheWhole) {
  const auto shared = headlight::testing::shared_data();
  const Tokenizer tokenizer = load_tokenizer((*shared / GetParam()).string());
  for (const std::string text :
       {"Once upon a time, there was a cat.", "naïve café, déjà vu",
        "日本語 と 한국어 🙂👩‍👩‍👧!", "a  b\n\n c", "3.14 ≈ π"}) {
    const std::vector<TokenId> ids = tokenizer.encode(text, SpecialTokens::leave_out);
    const std::string whole = tokenizer.decode(ids);
    // From every token on: those before it are the prompt.
    for (std::size_t first = 0; first <= ids.size(); ++first) {
      const std::string prompt = tokenizer.decode(std::span(ids).first(first));
      if (prompt.ends_with("\uFFFD")) continue;  // a prompt has whole characters
      text::TokenText stream(tokenizer, {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(first)});
      std::string out = prompt;
      for (std::size_t i = first; i < ids.size(); ++i) {
        const std::string piece = stream.add(ids[i]);
        EXPECT_TRUE(text::is_well_formed(piece));
        EXPECT_EQ(piece.find("\uFFFD"), std::string::npos) << "half a character of " << text;
        out += piece;
      }
      out += stream.finish();
      EXPECT_EQ(out, whole) << first;
    }
  }
}

TEST_P(TokenTexts, AnUnfinishedCharacterIsHeldBack) {
  const auto shared = headlight::testing::shared_data();
  const Tokenizer tokenizer = load_tokenizer((*shared / GetParam()).string());
  const std::vector<TokenId> ids = tokenizer.encode("🙂", SpecialTokens::leave_out);
  if (ids.size() < 2 || tokenizer.decode(ids).find("🙂") == std::string::npos) return;
  text::TokenText stream(tokenizer, {});
  std::string out;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) out += stream.add(ids[i]);
  EXPECT_EQ(out.find_first_not_of(' '), std::string::npos);
  EXPECT_NE(stream.finish(), "");  // nothing more came: it is given as it is
}

INSTANTIATE_TEST_SUITE_P(All, TokenTexts,
                         ::testing::ValuesIn(headlight::testing::if_shared(
                             {"golden/tokenizers/gpt2", "golden/tokenizers/spm-own-bpe",
                              "golden/tokenizers/spm-own-unigram", "golden/tokenizers/bpe-llama3-style",
                              "data/models/stories15M", "data/models/stories260K"})),
                         [](const auto& r) {
                           std::string name = r.param;
                           for (char& c : name)
                             if (c == '/' || c == '-') c = '_';
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TokenTexts);

}  // namespace
}  // namespace headlight::models
