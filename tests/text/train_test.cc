// Learned vocabularies: what they hold, that they are the same every time, and that text survives them.
#include "text/train.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/errors.h"
#include "support/random.h"
#include "text/parts.h"

namespace headlight::text {
namespace {

using headlight::testing::expect_error;

TextSource source_of(std::vector<std::string> texts) {
  return [texts = std::move(texts), at = std::size_t{0}](std::string& text) mutable {
    if (at == texts.size()) return false;
    text = texts[at++];
    return true;
  };
}

// Words with endings, many times in many orders.
std::vector<std::string> stories() {
  headlight::testing::Random random(1);
  const std::vector<std::string> stems = {"walk", "talk", "play", "jump", "été", "naïve", "sing", "help"};
  const std::vector<std::string> ends = {"", "s", "ed", "ing", "er"};
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) {
    std::string text = i % 2 == 0 ? "The" : "Once";
    for (int w = 0; w < 12; ++w)
      text += " " + stems[static_cast<std::size_t>(random.below(8))] +
              ends[static_cast<std::size_t>(random.below(5))];
    texts.push_back(text + ".\n");
  }
  return texts;
}

Tokenizer trained(TokenizerKind kind, std::int32_t vocab) {
  TokenizerTraining options;
  options.kind = kind;
  options.vocab = vocab;
  options.special = usual_special_tokens(kind);
  return train_tokenizer(source_of(stories()), options);
}

TEST(TrainBpe, MergesOfAKnownExample) {
  // ab 5 times in all, then c joins it 4 times: what the paper's algorithm does by hand.
  TokenizerTraining options;
  options.special = {"<s>"};
  options.vocab = 1 + 256 + 2;
  const BpeParts parts = train_bpe({{"abc", 3}, {"ab", 1}, {"xabc", 1}}, options);
  ASSERT_EQ(parts.merges.size(), 2U);
  EXPECT_EQ(parts.vocab.token(parts.merges[0].result), "ab");
  EXPECT_EQ(parts.vocab.token(parts.merges[1].result), "abc");
  EXPECT_EQ(parts.vocab.token(0), "<s>");
  EXPECT_EQ(parts.vocab.token(1), "!");  // bytes by the character that stands for them
}

TEST(TrainBpe, ElisionsPartWords) {
  const std::vector<std::string> texts(
      30,
      "Un animal dort. L'animal qu'il aime, c'est l'autre animal; jusqu'ici aujourd'hui, \"l'\" et d'.\n");
  TokenizerTraining options;
  options.vocab = 400;
  options.elisions = true;
  const Tokenizer tokenizer = train_tokenizer(source_of(texts), options);
  const auto tokens = [&](const char* text) {
    std::string joined;
    for (const TokenPiece& piece : tokenizer.encode_pieces(text, SpecialTokens::leave_out))
      joined += piece.text + "|";
    return joined;
  };
  EXPECT_EQ(tokens("L'animal dort"), "L|'|Ġanimal|Ġdort|");
  EXPECT_EQ(tokens("un animal"), tokens("un") + "Ġanimal|");
  const std::vector<TokenSpan> spans = tokenizer.encode_spans("L'animal", SpecialTokens::leave_out);
  EXPECT_EQ(spans.back().begin, 1U);  // the space stands for the apostrophe, too
  EXPECT_EQ(spans.back().end, 8U);
  for (const char* text :
       {texts[0].c_str(), "L'animal", "l'", "d'or", "didn't I'm it's o'clock rock'n'roll", "'l'animal'",
        "Qu'est-ce que c'est", "dogs' tails", "puisqu'on s'aime", "l'' a", "éd'a", "'"})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, SpecialTokens::leave_out)), text);
  // What is lost: a space that was there before.
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("l' animal", SpecialTokens::leave_out)), "l'animal");
  options.elisions = false;
  const Tokenizer plain = train_tokenizer(source_of(texts), options), parted = with_elisions(plain);
  EXPECT_NE(plain.encode("L'animal"), parted.encode("L'animal"));
  EXPECT_EQ(parted.encode("L'animal").back(), *plain.find("Ġanimal"));
  EXPECT_EQ(parted.decode(parted.encode("L'animal")), "L'animal");
  options.elisions = true;
  options.kind = TokenizerKind::unigram;
  expect_error([&] { (void)train_tokenizer(source_of(texts), options); }, ErrorKind::usage,
               "tokenizer.training", "elisions need the kind \"bpe\"");
}

// What a translator is trained on: sources that end. Twice is the same as once, for elisions too.
TEST(TrainBpe, TextsCanBeGivenAnEnd) {
  TokenizerTraining options;
  options.special = {"<pad>", "<s>", "</s>"};
  options.vocab = 300;
  const std::vector<std::string> texts = {"l'eau est ici", "d'eau"};
  const Tokenizer plain = train_tokenizer(source_of(texts), options), ended = with_end(plain, 2);
  std::vector<TokenId> ids = plain.encode("l'eau");
  EXPECT_EQ(ended.encode("l'eau", SpecialTokens::leave_out), ids);
  ids.push_back(2);
  EXPECT_EQ(ended.encode("l'eau"), ids);
  EXPECT_EQ(with_end(ended, 2).encode("l'eau"), ids);
  EXPECT_EQ(ended.decode(ids), "l'eau");
  const Tokenizer parted = with_elisions(plain);
  EXPECT_EQ(parts_of(with_elisions(parted)).normalizer.size(), parts_of(parted).normalizer.size());
}

TEST(TrainBpe, RepeatedSymbolsAreCountedAsTheyMerge) {
  TokenizerTraining options;
  options.special = {};
  options.vocab = 256 + 3;
  options.min_frequency = 1;
  const BpeParts parts = train_bpe({{"aaaaaaaa", 1}, {"ababab", 2}}, options);
  // a a: 7 times; b a: 4, a b: 6. After aa: a b 6.
  EXPECT_EQ(parts.vocab.token(parts.merges[0].result), "aa");
  EXPECT_EQ(parts.vocab.token(parts.merges[1].result), "ab");
  EXPECT_EQ(parts.vocab.token(parts.merges[2].result), "abab");
}

TEST(TrainBpe, ASpecialTokensNameIsNeverMade) {
  TokenizerTraining options;
  options.special = {"ab"};
  options.vocab = 300;
  options.min_frequency = 1;
  const BpeParts parts = train_bpe({{"abab", 10}}, options);
  for (const BpeParts::Merge& merge : parts.merges) EXPECT_NE(merge.result, 0);
}

TEST(Train, EveryKindKeepsTheText) {
  const std::string text = "Once walked talking été. The singer helps naïve players.";
  for (const auto kind :
       {TokenizerKind::bpe, TokenizerKind::unigram, TokenizerKind::characters, TokenizerKind::bytes}) {
    const Tokenizer tokenizer = trained(kind, 400);
    const std::vector<TokenId> ids = tokenizer.encode(text);
    EXPECT_EQ(tokenizer.decode(ids), text) << static_cast<int>(kind);
    EXPECT_LE(tokenizer.size(), 400);
    EXPECT_EQ(tokenizer.find(SpecialRole::pad), 0);
    EXPECT_EQ(tokenizer.find("<mask>"), 4);
    EXPECT_TRUE(tokenizer.is_special(4));
  }
  const Tokenizer pieces = trained(TokenizerKind::word_piece, 400);
  EXPECT_EQ(pieces.decode(pieces.encode(text)), text);
  EXPECT_EQ(pieces.find(SpecialRole::begin), 2);
}

TEST(Train, LearnsTheWordsOfTheText) {
  for (const auto kind : {TokenizerKind::bpe, TokenizerKind::unigram, TokenizerKind::word_piece}) {
    const Tokenizer tokenizer = trained(kind, 400);
    // 28 letters and signs would be that many tokens; the words are known.
    EXPECT_LE(tokenizer.encode("The walking helper played.").size(), 9U) << static_cast<int>(kind);
  }
  EXPECT_TRUE(trained(TokenizerKind::bpe, 500).find("Ġwalked"));
  EXPECT_TRUE(trained(TokenizerKind::word_piece, 400).find("##ing"));
}

TEST(Train, ATokenOfSpecialTextIsFoundInTheText) {
  const Tokenizer tokenizer = trained(TokenizerKind::bpe, 300);
  const std::vector<TokenId> ids = tokenizer.encode("walk<mask>s");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 4), 1);
}

TEST(Train, TheSameTwice) {
  for (const auto kind : {TokenizerKind::bpe, TokenizerKind::unigram, TokenizerKind::word_piece}) {
    const Tokenizer a = trained(kind, 350), b = trained(kind, 350);
    ASSERT_EQ(a.size(), b.size());
    for (TokenId id = 0; id < a.size(); ++id) ASSERT_EQ(a.token(id), b.token(id));
  }
}

TEST(Train, RareThingsAreLeftOut) {
  TokenizerTraining options;
  options.kind = TokenizerKind::characters;
  options.min_frequency = 2;
  const Tokenizer tokenizer = train_tokenizer(source_of({"aab", "bc"}), options);
  EXPECT_EQ(tokenizer.size(), 5 + 2);
  EXPECT_EQ(tokenizer.encode("abc"), (std::vector<TokenId>{5, 6, 3}));  // c is unknown
  options.vocab = 6;
  options.min_frequency = 1;
  EXPECT_TRUE(train_tokenizer(source_of({"aaab"}), options).find("a"));
}

TEST(Train, LowercaseAndTemplate) {
  TokenizerTraining options;
  options.kind = TokenizerKind::characters;
  options.lowercase = true;
  options.min_frequency = 1;
  options.around = "<s> $A </s>";
  const Tokenizer tokenizer = train_tokenizer(source_of({"AbÉ"}), options);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("aBé", SpecialTokens::leave_out)), "abé");
  const std::vector<TokenId> ids = tokenizer.encode("A");
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids.front(), 1);
  EXPECT_EQ(ids.back(), 2);
  EXPECT_EQ(tokenizer.encode_pair("a", "b").size(), 5U);
}

TEST(Train, IllFormedTextIsReadAsReplacements) {
  TokenizerTraining options;
  options.kind = TokenizerKind::characters;
  options.min_frequency = 1;
  const Tokenizer tokenizer = train_tokenizer(source_of({"a\xFF"}), options);
  EXPECT_TRUE(tokenizer.find("\uFFFD"));
}

TEST(Train, WhatCannotBe) {
  const auto train = [](auto change) {
    return [=] {
      TokenizerTraining options;
      change(options);
      (void)train_tokenizer(source_of({"text text"}), options);
    };
  };
  expect_error(train([](auto& o) { o.vocab = 260; }), ErrorKind::usage, "tokenizer.training", "at least 261");
  expect_error(train([](auto& o) {
                 o.special = {"<s>", "<s>"};
               }),
               ErrorKind::usage, "tokenizer.training", "twice");
  expect_error(train([](auto& o) { o.special = {"x"}; }), ErrorKind::usage, "tokenizer.training",
               "single character");
  expect_error(train([](auto& o) { o.around = "<s>"; }), ErrorKind::usage, "tokenizer.training", "$A");
  expect_error(train([](auto& o) { o.around = "<x> $A"; }), ErrorKind::usage, "tokenizer.training",
               "not a special token");
  expect_error(train([](auto& o) {
                 o.kind = TokenizerKind::unigram;
                 o.special = {"<pad>"};
               }),
               ErrorKind::usage, "tokenizer.training", "<unk>");
  expect_error(
      [] {
        (void)train_tokenizer(source_of({"", ""}), {});
      },
      ErrorKind::input, "tokenizer.training", "empty");
}

}  // namespace
}  // namespace headlight::text
