#include "io/hash.h"

#include <gtest/gtest.h>

namespace headlight::io {
namespace {

// The published answers of XXH64.
TEST(Hash64, KnownAnswers) {
  EXPECT_EQ(hash_text(""), "ef46db3751d8e999");
  EXPECT_EQ(hash_text("a"), "d24ec4f1a98c6e5b");
  EXPECT_EQ(hash_text("abc"), "44bc2cf5ad770999");
  EXPECT_EQ(hash_text("Nobody inspects the spammish repetition"), "fbcea83c8a378bf1");
}

TEST(Hash64, PiecesDoNotMatterAndEveryBitDoes) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string whole = hash_text(std::string_view(text).substr(0, size));
    Hash64 pieces;
    for (std::size_t at = 0; at < size; at += 7)
      pieces.update(std::string_view(text).substr(at, std::min<std::size_t>(7, size - at)));
    EXPECT_EQ(pieces.text(), whole) << size;
  }
  const std::string whole = hash_text(text);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(hash_text(flipped), whole);
  }
}

}  // namespace
}  // namespace headlight::io
