#include "inspect/alignment.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::inspect {
namespace {

using Words = std::vector<std::string>;

Words laid_out(const Words& a, const Words& b) { return aligned_labels(align(a, b), a, b); }

TEST(Alignment, EqualWordsStandOppositeEachOther) {
  EXPECT_EQ(laid_out({"the", "cat", "sat"}, {"the", "cat", "sat"}), (Words{"the", "cat", "sat"}));
  EXPECT_EQ(laid_out({"the", "cat", "sat"}, {"the", "dog", "sat"}), (Words{"the", "cat → dog", "sat"}));
  EXPECT_EQ(laid_out({"it", "was", "tired"}, {"it", "was", "too", "tired"}),
            (Words{"it", "was", "+ too", "tired"}));
  EXPECT_EQ(laid_out({"an", "old", "cat"}, {"an", "cat"}), (Words{"an", "- old", "cat"}));
  EXPECT_EQ(laid_out({}, {"a"}), (Words{"+ a"}));
  EXPECT_EQ(laid_out({"a"}, {}), (Words{"- a"}));
  EXPECT_TRUE(laid_out({}, {}).empty());
}

TEST(Alignment, KeepsEveryWordOnceAndInOrder) {
  const Words a = {"a", "b", "c", "d", "e", "b"}, b = {"b", "x", "d", "b", "b", "f", "g"};
  Index next_a = 0, next_b = 0;
  for (const WordPair& word : align(a, b)) {
    if (word.a >= 0) { EXPECT_EQ(word.a, next_a++); }
    if (word.b >= 0) { EXPECT_EQ(word.b, next_b++); }
  }
  EXPECT_EQ(next_a, 6);
  EXPECT_EQ(next_b, 7);
}

TEST(Alignment, WeightsMoveWithTheirWords) {
  AttentionMap map;
  map.rows = map.columns = 2;
  map.weights = {1, 0, 0.25F, 0.75F};
  map.visible = {1, 0, 1, 1};
  const std::vector<WordPair> words = {{0, 0}, {-1, 1}, {1, 2}};  // the second is in b alone
  const AttentionMap a = aligned(map, words, words, Side::a);
  EXPECT_EQ(a.rows, 3);
  EXPECT_EQ(a.at(2, 0), 0.25F);
  EXPECT_EQ(a.at(2, 2), 0.75F);
  EXPECT_FALSE(a.sees(1, 1));
  EXPECT_FALSE(a.sees(0, 2));
  EXPECT_TRUE(a.sees(0, 0));
  AttentionMap other = a;
  other.weights[6] = 0.5F;
  other.weights[4] = 9;  // nobody sees it
  EXPECT_DOUBLE_EQ(distance(a, other), 0.25);
  EXPECT_DOUBLE_EQ(distance(a, a), 0);
}

TEST(Alignment, RefusesWhatIsTooLong) {
  const Words many(5000, "a");
  testing::expect_error([&] { (void)align(many, many); }, ErrorKind::resource, "inspect.align",
                        "too long to align");
}

}  // namespace
}  // namespace headlight::inspect
