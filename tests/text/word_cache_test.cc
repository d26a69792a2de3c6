// The cache gives what the model gives, however many words it has seen, and asks the model once per word
// as long as it has room.
#include "text/word_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace headlight::text {
namespace {

// One token per letter, whose id is the letter.
class Letters final : public WordModel {
 public:
  void encode(std::string_view word, std::vector<Piece>& out) const override {
    ++asked;
    for (std::uint32_t i = 0; i < word.size(); ++i) out.push_back({word[i], i, i + 1});
  }
  mutable int asked = 0;
};

std::string spelled(std::span<const Piece> pieces) {
  std::string word;
  for (const Piece& piece : pieces) word += static_cast<char>(piece.id);
  return word;
}

void see_all(WordCache& cache, const Letters& model, int words) {
  for (int i = 0; i < words; ++i) {
    const std::string word = "w" + std::to_string(i);
    ASSERT_EQ(spelled(cache.pieces(word, model)), word);
  }
}

TEST(WordCache, GrowsAndForgetsNothing) {
  constexpr int kWords = 60'000;  // from 256 slots through nine doublings, below the most it keeps
  WordCache cache;
  const Letters model;
  see_all(cache, model, kWords);
  EXPECT_EQ(model.asked, kWords);
  see_all(cache, model, kWords);
  EXPECT_EQ(model.asked, kWords) << "a word was forgotten while the cache grew";
}

TEST(WordCache, StartsAgainWhenFull) {
  constexpr int kWords = 70'000;  // more than the 65,536 it keeps
  WordCache cache;
  const Letters model;
  see_all(cache, model, kWords);
  EXPECT_EQ(model.asked, kWords);
  see_all(cache, model, kWords);
  EXPECT_GT(model.asked, kWords);
}

TEST(WordCache, KeepsNoLongWords) {
  const std::string word(WordCache::kLongestWord + 1, 'a');
  WordCache cache;
  const Letters model;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(spelled(cache.pieces(word, model)), word);
  EXPECT_EQ(model.asked, 2);
}

}  // namespace
}  // namespace headlight::text
