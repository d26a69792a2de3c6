// Recorders against another implementation's numbers, and against each other.
#include "inspect/recorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "inspect/model_run.h"
#include "support/errors.h"
#include "support/safetensors_reader.h"
#include "support/shared_data.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;
using headlight::testing::TempFolder;
using headlight::testing::write_small_model;

const char* const kStreet = "the animal didn't cross the street because it was too tired.";

class Recorders : public ::testing::Test {
 protected:
  LoadedModel open(SmallKind kind) {
    write_small_model(folder_.root().string(), kind);
    return open_model(folder_.root().string(), {});
  }
  std::vector<AttentionMap> record(const LoadedModel& loaded, const ModelInput& input,
                                   const MapRequest& request) {
    MapRecorder recorder(request);
    (void)watch(ctx_, loaded, input, recorder);
    return std::move(recorder.maps());
  }
  TempFolder folder_;
  Context ctx_{{.threads = 1}};
};

TEST_F(Recorders, RowsSumToOneAndMasksAreKnown) {
  for (const SmallKind kind : {SmallKind::decoder, SmallKind::encoder, SmallKind::translator}) {
    const LoadedModel loaded = open(kind);
    ModelInput input{.source = read_text(*loaded.tokenizer, kStreet), .written = {}, .types = {}};
    if (kind == SmallKind::translator) input.written = read_text(*loaded.tokenizer, "the cat sat");
    for (const Part part : {Part::encoder, Part::decoder, Part::cross}) {
      if (!loaded.has(part)) continue;
      const std::vector<AttentionMap> maps = record(loaded, input, {.part = part});
      ASSERT_EQ(maps.size(), 4U);
      for (const AttentionMap& map : maps) {
        EXPECT_EQ(map.visible.empty(), part != Part::decoder);
        for (Index i = 0; i < map.rows; ++i) {
          double sum = 0;
          for (Index j = 0; j < map.columns; ++j) {
            EXPECT_EQ(map.sees(i, j), part != Part::decoder || j <= i);
            sum += map.at(i, j);
          }
          EXPECT_NEAR(sum, 1, 1e-5);
        }
      }
      EXPECT_EQ(maps[3].layer, 1);
      EXPECT_EQ(maps[3].head, 1);
    }
  }
}

TEST_F(Recorders, SomeHeadsSomeRowsAndPooled) {
  const LoadedModel loaded = open(SmallKind::decoder);
  const ModelInput input{.source = read_text(*loaded.tokenizer, kStreet), .written = {}, .types = {}};
  const AttentionMap whole = record(loaded, input, {.heads = {{1, 0}}}).at(0);
  const AttentionMap rows = record(loaded, input, {.heads = {{1, 0}}, .rows = {4, 6}}).at(0);
  ASSERT_EQ(rows.rows, 2);
  for (Index j = 0; j < whole.columns; ++j) EXPECT_EQ(rows.at(1, j), whole.at(5, j));
  const AttentionMap small = record(loaded, input, {.heads = {{1, 0}}, .most_cells = 6}).at(0);
  EXPECT_EQ(whole.rows, 17);
  EXPECT_EQ(small.rows, 6);
  EXPECT_EQ(small.rows_in_cell, 3);
  for (Index r = 0; r < small.rows; ++r) {
    for (Index c = 0; c < small.columns; ++c) {
      float top = 0;
      for (Index i = 3 * r; i < std::min<Index>(17, 3 * r + 3); ++i)
        for (Index j = 3 * c; j < std::min<Index>(17, 3 * c + 3); ++j) top = std::max(top, whole.at(i, j));
      EXPECT_EQ(small.at(r, c), top);
      EXPECT_EQ(small.sees(r, c), c <= r);
    }
  }
}

TEST_F(Recorders, ArraysAgreeWithEachOther) {
  const LoadedModel loaded = open(SmallKind::decoder);
  const ModelInput input{.source = read_text(*loaded.tokenizer, kStreet), .written = {}, .types = {}};
  ArrayRecorder recorder(
      {.weights = true, .scores = true, .q = true, .k = true, .v = true, .z = true, .residual = true});
  const Tensor logits = watch(ctx_, loaded, input, recorder);
  EXPECT_EQ(logits.shape(), (Shape{17, 29}));
  const auto array = [&](const std::string& name) -> const Tensor& {
    for (const NamedArray& one : recorder.arrays())
      if (one.name == name) return one.tensor;
    throw std::runtime_error("no array " + name);
  };
  const Tensor &weights = array("decoder_1"), &scores = array("decoder_1_scores"), &v = array("decoder_1_v"),
               &z = array("decoder_1_z");
  EXPECT_EQ(array("decoder_0_q").shape(), (Shape{2, 17, 8}));
  EXPECT_EQ(array("decoder_2_residual").shape(), (Shape{17, 16}));
  for (Index h = 0; h < 2; ++h) {
    for (Index i = 0; i < 17; ++i) {
      double sum = 0;
      for (Index j = 0; j < 17; ++j) sum += std::exp(scores.at(h, i, j));
      for (Index j = 0; j < 17; ++j)
        EXPECT_NEAR(std::exp(scores.at(h, i, j)) / sum, weights.at(h, i, j), 1e-5);
      for (Index d = 0; d < 8; ++d) {
        double mix = 0;
        for (Index j = 0; j < 17; ++j) mix += weights.at(h, i, j) * v.at(h, j, d);
        EXPECT_NEAR(z.at(h, i, d), mix, 1e-5);
      }
    }
  }
}

TEST_F(Recorders, AnotherImplementationsWeights) {
  const std::filesystem::path folder = headlight::testing::golden_folder("marian");
  const auto golden = headlight::testing::read_safetensors(folder / "golden.safetensors");
  const LoadedModel loaded = open_model(folder.string(), {});
  const auto row = [&](const char* name, const char* mask) {
    std::vector<std::int32_t> ids;
    for (Index t = 0; t < golden.at(name).dim(1); ++t)
      if (golden.at(mask).at(0, t) != 0) ids.push_back(static_cast<std::int32_t>(golden.at(name).at(0, t)));
    return ids;
  };
  const Index vocabulary = loaded.model->config().vocabulary;
  std::vector<std::int32_t> written = row("decoder_input_ids", "decoder_attention_mask");
  written.erase(written.begin());
  written.push_back(0);  // what is written last is never read
  const ModelInput input{.source = read_ids(nullptr, row("input_ids", "attention_mask"), vocabulary),
                         .written = read_ids(nullptr, written, vocabulary),
                         .types = {}};
  for (const auto& [part, name] :
       {std::pair{Part::encoder, "encoder"}, {Part::decoder, "decoder"}, {Part::cross, "cross"}}) {
    for (const AttentionMap& map : record(loaded, input, {.part = part})) {
      const Tensor& expected = golden.at(std::string(name) + "_attentions." + std::to_string(map.layer));
      for (Index i = 0; i < map.rows; ++i)
        for (Index j = 0; j < map.columns; ++j)
          ASSERT_NEAR(map.at(i, j), expected.at(0, map.head, i, j), 2e-5) << name;
    }
  }
}

TEST_F(Recorders, LongTextsAreRefusedNotCut) {
  const LoadedModel loaded = open(SmallKind::decoder);
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  MapRecorder recorder({});
  expect_error(
      [&] {
        (void)watch(ctx_, loaded, {read_text(*loaded.tokenizer, text), {}, {}}, recorder);
      },
      ErrorKind::input, "inspect.length", "the text has 62 tokens; the model");
}

}  // namespace
}  // namespace headlight::inspect
