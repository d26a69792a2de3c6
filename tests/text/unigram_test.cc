// The unigram model finds the best cut; SentencePiece's version finds the one that its floats prefer.
#include "text/unigram.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/random.h"
#include "text/byte_characters.h"

namespace headlight::text {
namespace {

UnigramParts random_parts(testing::Random& random) {
  UnigramParts parts;
  parts.vocab.add("<unk>", 0);
  parts.scores.push_back(0);
  parts.unknown = 0;
  for (int i = 0; i < 12; ++i) {
    std::string token;
    for (std::uint64_t n = 1 + random.next() % 3; n > 0; --n)
      token += static_cast<char>('a' + random.next() % 3);
    if (parts.vocab.add(token, parts.vocab.size()) == TokenTable::Added::yes)
      parts.scores.push_back(-1 - 0.001 * static_cast<double>(random.next() % 9000));
  }
  return parts;
}

// All cuts of the word, tried one by one.
double best_by_trying(const UnigramParts& parts, std::string_view word, double unknown) {
  if (word.empty()) return 0;
  double best = -1e9;
  for (std::size_t n = 1; n <= word.size(); ++n) {
    const auto id = parts.vocab.find(word.substr(0, n));
    const double score = id ? parts.scores[static_cast<std::size_t>(*id)] : n == 1 ? unknown : -1e9;
    if (score > -1e8) best = std::max(best, score + best_by_trying(parts, word.substr(n), unknown));
  }
  return best;
}

TEST(Unigram, TheBestOfAllCuts) {
  testing::Random random(5);
  for (int round = 0; round < 200; ++round) {
    const UnigramParts parts = random_parts(random);
    const double unknown = *std::min_element(parts.scores.begin(), parts.scores.end()) - 10;
    const Unigram model(parts, Symbols::characters);
    std::string word;
    for (int i = 0; i < 9; ++i) word += static_cast<char>('a' + random.next() % 3);
    std::vector<Piece> pieces;
    model.encode(word, pieces);
    double score = 0;
    std::uint32_t end = 0;
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.begin, end);
      end = piece.end;
      // A run of unknown characters is one token.
      score += piece.id == 0 ? unknown * (piece.end - piece.begin)
                             : parts.scores[static_cast<std::size_t>(piece.id)];
    }
    EXPECT_EQ(end, word.size());
    EXPECT_NEAR(score, best_by_trying(parts, word, unknown), 1e-9);
  }
}

TEST(Unigram, UnknownRunsAndBytes) {
  UnigramParts parts;
  for (const char* token : {"<unk>", "a", "b"}) parts.vocab.add(token, parts.vocab.size());
  parts.scores = {0, -1, -2};
  parts.unknown = 0;
  std::vector<Piece> pieces;
  Unigram(parts, Symbols::characters).encode("axyb", pieces);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[1].id, 0);
  EXPECT_EQ(pieces[1].end - pieces[1].begin, 2U);
  parts.byte_fallback = true;
  for (unsigned byte = 0; byte < 256; ++byte) {
    parts.vocab.add(name_of_byte(static_cast<unsigned char>(byte)), parts.vocab.size());
    parts.scores.push_back(0);
  }
  pieces.clear();
  Unigram(parts, Symbols::characters).encode("aéb", pieces);
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(parts.vocab.token(pieces[1].id), "<0xC3>");
  EXPECT_EQ(parts.vocab.token(pieces[2].id), "<0xA9>");
}

// SentencePiece's rule: of two cuts with equal sums the one whose last piece begins earlier wins, because it is found first.
// Sums are compared as doubles with a float: where that float was rounded down, the later cut is larger and wins.
TEST(SentencePieceUnigram, OfEqualSumsTheEarlierPieceWinsUnlessItsSumWasRoundedDown) {
  const auto cut = [](float one, float two) {
    SentencePieceParts parts;
    parts.add_dummy_prefix = false;
    const std::pair<const char*, float> pieces[] = {{"<unk>", 0.0F}, {"a", one}, {"bc", two},
                                                    {"ab", one},     {"c", two}, {"b", -9.0F}};
    for (const auto& [piece, score] : pieces) {
      parts.vocab.add(piece, parts.vocab.size());
      parts.scores.push_back(score);
      parts.types.push_back(parts.types.empty() ? SentencePieceParts::Type::unknown
                                                : SentencePieceParts::Type::normal);
    }
    TokenizerParts whole;
    whole.model = std::move(parts);
    return make_tokenizer(std::move(whole)).encode("abc");
  };
  EXPECT_EQ(cut(-1, -2), (std::vector<TokenId>{1, 2}));        // a bc
  EXPECT_EQ(cut(-0.1F, -0.2F), (std::vector<TokenId>{3, 4}));  // ab c: -0.3 became -0.30000001
}

// Pieces that no text has: with one that holds a space inside, the text cannot be cut into words, and
// every score is added in SentencePiece's own order. The answers must be the same.
TEST(SentencePieceUnigram, WordsFromTheCacheAreWhatTheWholeTextGives) {
  testing::Random random(9);
  const auto make = [](const UnigramParts& from, bool cuts) {
    SentencePieceParts parts;
    for (TokenId id = 0; id < from.vocab.size(); ++id) {
      parts.vocab.add(id == 0 ? "<unk>" : from.vocab.token(id), id);
      // Few digits: sums of different cuts are often equal but for rounding.
      parts.scores.push_back(
          static_cast<float>(std::round(10 * from.scores[static_cast<std::size_t>(id)]) / 10));
      parts.types.push_back(id == 0 ? SentencePieceParts::Type::unknown : SentencePieceParts::Type::normal);
    }
    for (const std::string token : {"\u2581", cuts ? "\u2581~" : "~\u2581"}) {
      parts.vocab.add(token, parts.vocab.size());
      parts.scores.push_back(-3.3F);
      parts.types.push_back(SentencePieceParts::Type::normal);
    }
    TokenizerParts whole;
    whole.model = std::move(parts);
    return make_tokenizer(std::move(whole));
  };
  for (int round = 0; round < 40; ++round) {
    const UnigramParts parts = random_parts(random);
    const Tokenizer cut = make(parts, true), uncut = make(parts, false);
    std::string text;
    for (int i = 0; i < 4000; ++i)
      text += random.next() % 6 == 0 ? ' ' : static_cast<char>('a' + random.next() % 3);
    ASSERT_EQ(cut.encode(text), uncut.encode(text));
  }
}

}  // namespace
}  // namespace headlight::text
