// Streamed sums against whole matrices, the battery, and labels of real models.
#include "inspect/head_labels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "inspect/similar_heads.h"
#include "support/places.h"
#include "support/shared_data.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

using headlight::testing::SmallKind;
using headlight::testing::TempFolder;

const std::string kModels = testing::source_folder() + "/models";

// 150 words: more rows than are computed at a time.
std::string long_text(int shift) {
  const char* const words[] = {"the", "cat", "sat", "on",  "the",   "mat",
                               ",",   "it",  "was", "too", "tired", "!"};
  std::string text;
  for (int i = 0; i < 140; ++i) text += std::string(words[(i * i + shift) % 12]) + " ";
  return text;
}

class HeadLabels : public ::testing::Test {
 protected:
  LoadedModel open(SmallKind kind) {
    headlight::testing::write_small_model(folder_.root().string(), kind,
                                          {.context = 200, .layers = 2, .heads = 3});
    return open_model(folder_.root().string(), {});
  }
  TempFolder folder_;
  Context ctx_{{.threads = 1}};
};

// The same from a whole matrix, by the definitions.
struct Whole {
  double entropy = 0, evenness = 0, distance = 0, largest = 0, previous = 0, first = 0, same = 0, after = 0,
         marks = 0;
  Index rows = 0, previous_rows = 0, first_rows = 0, same_rows = 0, after_rows = 0, marks_rows = 0;
};
void add_whole(const AttentionMap& map, const PatternTokens& tokens, Whole& sums) {
  for (Index i = 0; i < map.rows; ++i) {
    std::vector<Index> seen;
    for (Index j = 0; j < map.columns; ++j)
      if (map.sees(i, j)) seen.push_back(j);
    if (seen.size() < 4) continue;
    double entropy = 0, same = 0, after = 0, marks = 0;
    Index same_n = 0, after_n = 0, marks_n = 0;
    for (const Index j : seen) {
      const double w = double{map.at(i, j)};
      if (w > 0) entropy -= w * std::log(w);
      sums.distance += w * std::abs(static_cast<double>(i - j));
      sums.largest = std::max(sums.largest, w);
      const auto id = [&](Index t) { return tokens.ids[static_cast<std::size_t>(t)]; };
      if (j < i && id(j) == id(i)) same += w, ++same_n;
      if (j > 0 && j < i && id(j - 1) == id(i)) after += w, ++after_n;
      if (tokens.is_delimiter[static_cast<std::size_t>(j)] != 0) marks += w, ++marks_n;
    }
    ++sums.rows;
    sums.entropy += entropy;
    sums.evenness += entropy / std::log(static_cast<double>(seen.size()));
    if (i > 0) sums.previous += double{map.at(i, i - 1)}, ++sums.previous_rows;
    if (i >= 2) sums.first += double{map.at(i, 0)}, ++sums.first_rows;
    if (same_n > 0) sums.same += same, ++sums.same_rows;
    if (after_n > 0) sums.after += after, ++sums.after_rows;
    if (marks_n > 0 && marks_n < static_cast<Index>(seen.size())) sums.marks += marks, ++sums.marks_rows;
  }
}

TEST_F(HeadLabels, StreamedSumsAreThoseOfWholeMatrices) {
  for (const SmallKind kind : {SmallKind::decoder, SmallKind::encoder}) {
    const LoadedModel loaded = open(kind);
    const Part part = loaded.usual_part();
    ModelSums streamed(loaded);
    std::vector<Whole> whole(6);
    for (const int shift : {0, 5}) {
      const ModelInput input{.source = read_text(*loaded.tokenizer, long_text(shift))};
      ASSERT_GT(input.source.size(), 128);
      HeadMeter meter(loaded, input, streamed);
      (void)watch(ctx_, loaded, input, meter);
      MapRecorder recorder({.part = part});
      (void)watch(ctx_, loaded, input, recorder);
      for (std::size_t h = 0; h < whole.size(); ++h)
        add_whole(recorder.maps()[h], pattern_tokens(input.source, loaded), whole[h]);
    }
    for (std::size_t h = 0; h < whole.size(); ++h) {
      const HeadSums& s = streamed.of(part)[h];
      const Whole& w = whole[h];
      EXPECT_EQ(s.rows, w.rows);
      EXPECT_NEAR(s.entropy, w.entropy, 1e-9 * w.entropy);
      EXPECT_NEAR(s.evenness, w.evenness, 1e-9 * w.evenness);
      EXPECT_NEAR(s.distance, w.distance, 1e-9 * w.distance);
      EXPECT_EQ(s.largest, w.largest);
      const Tally& previous = s.offsets[kMostOffset + 1];
      EXPECT_NEAR(previous.mass, w.previous, 1e-9);
      EXPECT_EQ(previous.rows, w.previous_rows);
      EXPECT_NEAR(s.first.mass, w.first, 1e-9);
      EXPECT_EQ(s.first.rows, w.first_rows);
      EXPECT_NEAR(s.duplicate.mass, w.same, 1e-9);
      EXPECT_EQ(s.duplicate.rows, w.same_rows);
      EXPECT_NEAR(s.induction.mass, w.after, 1e-9);
      EXPECT_EQ(s.induction.rows, w.after_rows);
      EXPECT_NEAR(s.delimiter.mass, w.marks, 1e-9);
      EXPECT_EQ(s.delimiter.rows, w.marks_rows);
    }
  }
}

TEST_F(HeadLabels, TheSameForAnyNumberOfThreads) {
  const LoadedModel loaded = open(SmallKind::decoder);
  const std::vector<std::string> texts = {long_text(0), "the cat sat on the mat"};
  Context three({.threads = 3});
  const auto a = label_heads(ctx_, loaded, texts), b = label_heads(three, loaded, texts);
  ASSERT_EQ(a.size(), 6U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].text.entropy, b[i].text.entropy);
    EXPECT_EQ(a[i].battery.entropy, b[i].battery.entropy);
    EXPECT_EQ(a[i].battery.labels, b[i].battery.labels);
  }
}

TEST_F(HeadLabels, BatteryIsFixedAndFits) {
  const LoadedModel loaded = open(SmallKind::translator);
  const Battery a = make_battery(ctx_, loaded), b = make_battery(ctx_, loaded);
  ASSERT_EQ(a.prose.size(), 16U);
  ASSERT_EQ(a.repeated.size(), 4U);
  for (std::size_t i = 0; i < a.prose.size(); ++i) {
    EXPECT_EQ(a.shuffled[i].source.ids(), b.shuffled[i].source.ids());
    std::vector<std::int32_t> plain = a.prose[i].source.ids(), mixed = a.shuffled[i].source.ids();
    EXPECT_NE(plain, mixed);
    EXPECT_EQ(plain.front(), mixed.front());  // what was put around it stays
    std::sort(plain.begin(), plain.end());
    std::sort(mixed.begin(), mixed.end());
    EXPECT_EQ(plain, mixed);
  }
  const std::vector<std::int32_t> ids = a.repeated[0].source.ids();  // [CLS], 12 tokens twice, [SEP]
  ASSERT_EQ(ids.size(), 26U);
  for (std::size_t i = 1; i <= 12; ++i) {
    EXPECT_EQ(ids[i], ids[i + 12]);
    EXPECT_FALSE(loaded.tokenizer->is_special(ids[i]));
  }
}

TEST_F(HeadLabels, LongTextsAreCutBeforeTheirLastToken) {
  const LoadedModel loaded = open(SmallKind::encoder);
  EncodedText encoded = read_text(*loaded.tokenizer, long_text(0) + long_text(1));
  const std::int32_t end = encoded.tokens.back().id;
  EXPECT_TRUE(cut_to_fit(loaded, encoded));
  EXPECT_EQ(encoded.size(), 200);
  EXPECT_EQ(encoded.tokens.back().id, end);
  EXPECT_FALSE(cut_to_fit(loaded, encoded));
}

TEST_F(HeadLabels, SimilarHeadsAreThoseWithTheSameWeights) {
  const LoadedModel loaded = open(SmallKind::decoder);
  const Battery battery = make_battery(ctx_, loaded);
  const HeadSimilarity similarity(ctx_, loaded, battery, Part::decoder);
  const std::vector<SimilarHead> like = similarity.like({1, 2});
  ASSERT_EQ(like.size(), 5U);
  for (std::size_t i = 1; i < like.size(); ++i) EXPECT_GE(like[i - 1].cosine, like[i].cosine);
  for (const SimilarHead& other : like) {
    EXPECT_GT(other.cosine, 0);
    EXPECT_LE(other.cosine, 1 + 1e-12);
    const std::vector<SimilarHead> back = similarity.like(other.place);
    const auto self = std::find_if(back.begin(), back.end(), [](const SimilarHead& h) {
      return h.place == HeadPlace{1, 2};
    });
    ASSERT_NE(self, back.end());
    EXPECT_EQ(self->cosine, other.cosine);
  }
}

TEST(HeadLabelsOfModels, DefaultModelHasHeadsOfSeveralKinds) {
  Context ctx({.threads = 1});
  const LoadedModel loaded = open_model("en-fr", {kModels});
  const std::vector<std::string> texts = {"The animal didn't cross the street because it was too tired."};
  const auto heads = label_heads(ctx, loaded, texts);
  ASSERT_EQ(heads.size(),
            112U);  // 8 in each of 6 layers of the encoder, 4 of the decoder, and 4 of cross-attention
  Index named = 0, aligned = 0;
  for (const LabelledHead& head : heads) {
    EXPECT_GT(head.text.rows, 0);
    EXPECT_GT(head.battery.rows, 0);
    named += head.battery.has(Label::none) ? 0 : 1;
    aligned += head.battery.has(Label::aligned) ? 1 : 0;
    if (head.part == Part::cross) { EXPECT_EQ(head.battery.patterns.size(), 2U); }
  }
  EXPECT_GT(named, 10);
  EXPECT_GT(aligned, 0);
}

HEADLIGHT_SHARED_TEST(HeadLabelsOfModels, StoriesModelHasPreviousAndLocalHeads) {
  const auto shared = headlight::testing::shared_data();
  Context ctx({.threads = 1});
  const LoadedModel loaded = open_model((*shared / "data/models/stories15M").string(), {});
  const auto heads =
      label_heads(ctx, loaded, std::vector<std::string>{"Once upon a time there was a little dog."});
  ASSERT_EQ(heads.size(), 36U);
  Index previous = 0, local = 0;
  for (const LabelledHead& head : heads) {
    previous += head.battery.has(Label::previous) ? 1 : 0;
    local += head.battery.has(Label::local) ? 1 : 0;
  }
  EXPECT_GT(previous, 0);
  EXPECT_GT(local, 0);
}

}  // namespace
}  // namespace headlight::inspect
