// Byte-pair encoding against its definition, on short words and on very long ones.
#include "text/bpe.h"

#include <gtest/gtest.h>

#include "support/random.h"
#include "support/sanitizers.h"
#include "support/work_time.h"
#include "text/byte_characters.h"
#include "text/train.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

BpeParts parts_of_tokens(const std::vector<std::string>& tokens,
                         const std::vector<std::pair<std::string, std::string>>& merges) {
  BpeParts parts;
  for (const std::string& token : tokens) parts.vocab.add(token, parts.vocab.size());
  for (const auto& [left, right] : merges)
    parts.merges.push_back(
        {*parts.vocab.find(left), *parts.vocab.find(right), *parts.vocab.find(left + right)});
  return parts;
}

std::vector<std::string> tokens(const BpeParts& parts, std::string_view word,
                                Symbols symbols = Symbols::characters) {
  std::vector<Piece> pieces;
  Bpe(parts, symbols).encode(word, pieces);
  std::vector<std::string> out;
  for (const Piece& piece : pieces) out.emplace_back(parts.vocab.token(piece.id));
  return out;
}

using Strings = std::vector<std::string>;

// The definition: look at all pairs, merge the first of the earliest rank, again.
std::vector<TokenId> merged_by_definition(const BpeParts& parts, std::vector<TokenId> ids) {
  while (true) {
    std::size_t best_rank = parts.merges.size(), best = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (parts.merges[rank].left != ids[i] || parts.merges[rank].right != ids[i + 1]) continue;
        best_rank = rank;
        best = i;
      }
    }
    if (best_rank == parts.merges.size()) return ids;
    ids[best] = parts.merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, EarlierMergesFirstThenLeft) {
  const BpeParts parts = parts_of_tokens({"a", "b", "c", "ab", "bc", "abc", "aa"},
                                         {{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"}});
  EXPECT_EQ(tokens(parts, "abc"), (Strings{"abc"}));
  EXPECT_EQ(tokens(parts, "ab"), (Strings{"ab"}));
  EXPECT_EQ(tokens(parts, "aaa"), (Strings{"aa", "a"}));
  EXPECT_EQ(tokens(parts, "aab"), (Strings{"a", "ab"}));
}

TEST(Bpe, AnyWordAsTheDefinitionHasIt) {
  testing::Random random(11);
  for (int round = 0; round < 60; ++round) {
    // A random vocabulary over three letters, merges in random order.
    BpeParts parts = parts_of_tokens({"a", "b", "c"}, {});
    for (int tries = 0; tries < 25; ++tries) {
      const auto left = static_cast<TokenId>(random.next() % static_cast<std::uint64_t>(parts.vocab.size()));
      const auto right = static_cast<TokenId>(random.next() % static_cast<std::uint64_t>(parts.vocab.size()));
      const std::string joined = std::string(parts.vocab.token(left)) + std::string(parts.vocab.token(right));
      if (joined.size() > 9) continue;
      TokenId result = parts.vocab.find(joined).value_or(-1);
      if (result < 0) parts.vocab.add(joined, result = parts.vocab.size());
      const auto same = [&](const BpeParts::Merge& m) { return m.left == left && m.right == right; };
      if (std::none_of(parts.merges.begin(), parts.merges.end(), same))
        parts.merges.push_back({left, right, result});
    }
    const Bpe bpe(parts, Symbols::characters);
    for (const std::size_t size : {1U, 2U, 5U, 20U, 39U, 40U, 41U, 150U}) {
      std::string word;
      std::vector<TokenId> ids;
      while (word.size() < size) {
        ids.push_back(static_cast<TokenId>(random.next() % 3));
        word += static_cast<char>('a' + ids.back());
      }
      std::vector<Piece> pieces;
      bpe.encode(word, pieces);
      std::vector<TokenId> found;
      std::uint32_t end = 0;
      for (const Piece& piece : pieces) {
        ASSERT_EQ(piece.begin, end);
        end = piece.end;
        ASSERT_EQ(word.substr(piece.begin, piece.end - piece.begin), parts.vocab.token(piece.id));
        found.push_back(piece.id);
      }
      ASSERT_EQ(end, size);
      ASSERT_EQ(found, merged_by_definition(parts, ids)) << word;
    }
  }
}

TEST(Bpe, WhatTheVocabularyLacks) {
  BpeParts parts = parts_of_tokens({"<unk>", "a", "é"}, {});
  EXPECT_EQ(tokens(parts, "axa"), (Strings{"a", "a"}));  // nothing to stand for x: left out
  parts.unknown = "<unk>";
  EXPECT_EQ(tokens(parts, "axyé"), (Strings{"a", "<unk>", "<unk>", "é"}));
  parts.fuse_unknown = true;
  EXPECT_EQ(tokens(parts, "axyé"), (Strings{"a", "<unk>", "é"}));
  parts.byte_fallback = true;
  EXPECT_EQ(tokens(parts, "aü"), (Strings{"a", "<unk>"}));  // no bytes in the vocabulary
  for (unsigned byte = 0; byte < 256; ++byte)
    parts.vocab.add(name_of_byte(static_cast<unsigned char>(byte)), parts.vocab.size());
  EXPECT_EQ(tokens(parts, "aü"), (Strings{"a", "<0xC3>", "<0xBC>"}));
}

TEST(Bpe, PrefixesSuffixesAndWholeWords) {
  BpeParts parts = parts_of_tokens({"a", "b", "##b", "b</w>", "##b</w>", "ab</w>"}, {});
  parts.merges.push_back({0, 4, 5});
  parts.prefix = "##";
  parts.suffix = "</w>";
  EXPECT_EQ(tokens(parts, "ab"), (Strings{"ab</w>"}));
  EXPECT_EQ(tokens(parts, "b"), (Strings{"b</w>"}));
  BpeParts whole = parts_of_tokens({"a", "b", "ab"}, {});
  EXPECT_EQ(tokens(whole, "ab"), (Strings{"a", "b"}));
  whole.ignore_merges = true;
  EXPECT_EQ(tokens(whole, "ab"), (Strings{"ab"}));
}

TEST(Bpe, AMillionTimesOneLetter) {
  TokenizerTraining options;
  options.vocab = 261 + 12;
  options.min_frequency = 1;
  const BpeParts parts = train_bpe({{std::string(4096, 'a'), 1}}, options);
  ASSERT_EQ(parts.merges.size(), 12U);  // a, aa, aaaa … 4,096 times a
  const Bpe bpe(parts, Symbols::bytes);
  std::vector<Piece> pieces;
  const double start = testing::work_seconds();
  bpe.encode(std::string(1'000'000, 'a'), pieces);
  EXPECT_LT(testing::work_seconds() - start, 2.0 * testing::kPatience);
  EXPECT_EQ(pieces.back().end, 1'000'000U);
  EXPECT_EQ(pieces.size(), 244U + 2U);  // 1,000,000 = 244·4,096 + 512 + 64
}

}  // namespace
}  // namespace headlight::text
