// Beam search that prefers known words: what counts as unknown, and what that changes.
#include "models/word_check.h"

#include <gtest/gtest.h>

#include <array>

#include "io/json.h"
#include "models/generate.h"
#include "models/tokenizer_file.h"

namespace headlight::models {
namespace {

// Pieces of words, written as byte-level vocabularies write them.
enum Piece : TokenId { kStart, kEnd, kLe, kCh, kIen, kAt, kEau, kTom, kFive, kDot, kHalf };
constexpr std::array kPieces = {"<s>",
                                "</s>",
                                "\xC4\xA0le",
                                "\xC4\xA0"
                                "ch",
                                "ien",
                                "at",
                                "eau",
                                "\xC4\xA0Tom",
                                "5",
                                ".",
                                "\xC3\x83"};

Tokenizer pieces() {
  std::string vocab;
  for (std::size_t i = 0; i < kPieces.size(); ++i)
    vocab += (i > 0 ? ", \"" : "\"") + std::string(kPieces[i]) + "\": " + std::to_string(i);
  return tokenizer_from_json(io::Json::parse(
      R"({"version": "1.0", "normalizer": null, "post_processor": null,
          "added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 1, "content": "</s>", "special": true}],
          "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
          "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
          "model": {"type": "BPE", "merges": [], "vocab": {)" +
          vocab + "}}}",
      "tokenizer.json"));
}

class WordChecks : public ::testing::Test {
 protected:
  const text::KnownWords words_{"words.txt", "chat\nchien\nle\n"};
  const Tokenizer tokenizer_ = pieces();
};

TEST_F(WordChecks, AWordCountsOnceAndAsSoonAsItCannotBecomeAKnownOne) {
  WordCheck check(words_, tokenizer_);
  check.add_source(std::vector<TokenId>{});
  WordCheck::State state;
  EXPECT_EQ(check.read(state, 0, kLe), 0);
  EXPECT_EQ(check.read(state, 0, kCh), 0);
  EXPECT_EQ(check.read(state, 0, kEau), 1);  // no word starts with "cheau"
  EXPECT_EQ(check.read(state, 0, kAt), 0);   // the same word
  EXPECT_EQ(check.read(state, 0, kLe), 0);   // it ends
  EXPECT_EQ(check.read(state, 0, kCh), 0);
  WordCheck::State other = state;
  EXPECT_EQ(check.read(state, 0, kDot), 1);  // "ch" is not a word
  EXPECT_EQ(check.finish(state, 0), 0);
  EXPECT_EQ(check.read(other, 0, kIen), 0);
  EXPECT_EQ(check.finish(other, 0), 0);
}

TEST_F(WordChecks, WordsOfTheSourceAreKnownInTheirSentenceOnly) {
  WordCheck check(words_, tokenizer_);
  check.add_source(std::vector<TokenId>{kTom, kDot});
  check.add_source(std::vector<TokenId>{kLe});
  WordCheck::State first, second;
  EXPECT_EQ(check.read(first, 0, kTom), 0);
  EXPECT_EQ(check.finish(first, 0), 0);
  EXPECT_EQ(check.read(second, 1, kTom), 1);
}

TEST_F(WordChecks, RunsWithDigitsAndPartsOfCharactersAreNotJudged) {
  WordCheck check(words_, tokenizer_);
  check.add_source(std::vector<TokenId>{});
  WordCheck::State state;
  for (const TokenId piece : {kFive, kEau, kLe, kHalf, kDot}) EXPECT_EQ(check.read(state, 0, piece), 0);
  EXPECT_EQ(check.finish(state, 0), 0);
}

// Every next token has the same logits, whatever was written.
class Reciter : public Writer {
 public:
  [[nodiscard]] Facts facts() const override {
    return {.vocabulary = 11, .context = 8, .start = kStart, .ends = {kEnd}};
  }
  [[nodiscard]] Index places() const override { return places_; }
  void start(Context& /*ctx*/, const Tokens& source) override { places_ = source.sequences(), step_ = 0; }
  [[nodiscard]] Tensor next(Context& /*ctx*/, const Tokens& /*tokens*/) override {
    // " ch", then "eau" rather than "ien", then the end.
    static constexpr std::array kLikely = {kCh, kEau, kEnd}, kSecond = {kLe, kIen, kEnd};
    Tensor logits(Shape{places_, 11});
    const std::size_t step = std::min<std::size_t>(step_++, 2);
    for (Index p = 0; p < places_; ++p) {
      float* row = logits.as<float>() + p * 11;
      std::fill(row, row + 11, -20.0F);
      row[kSecond[step]] = 1;
      row[kLikely[step]] = 2;
    }
    return logits;
  }
  void spread(Index copies) override { places_ *= copies; }
  void copy(Index /*from*/, Index /*to*/) override {}
  void keep(Index count) override { places_ = count; }

 private:
  Index places_ = 0;
  std::size_t step_ = 0;
};

TEST_F(WordChecks, BeamSearchPutsKnownWordsFirst) {
  Context ctx({.threads = 1});
  Tokens source;
  source.append(std::vector<TokenId>{kLe});
  Reciter reciter;
  const auto any = beam_search(ctx, reciter, source, {.beams = 2, .most = 3});
  EXPECT_EQ(any[0][0].tokens, (std::vector<TokenId>{kCh, kEau}));
  WordCheck check(words_, tokenizer_);
  check.add_source(source.ids);
  const auto known = beam_search(ctx, reciter, source, {.beams = 2, .most = 3, .words = &check});
  EXPECT_EQ(known[0][0].tokens, (std::vector<TokenId>{kCh, kIen}));
  // Scores stay the model's log-probabilities.
  EXPECT_EQ(known[0][0].score, any[0][1].score);
  EXPECT_LT(known[0][0].score, any[0][0].score);
}

}  // namespace
}  // namespace headlight::models
