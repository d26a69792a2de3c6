// The newest token's row, seen while writing, is that of a run over the whole text.
#include "inspect/last_row.h"

#include <gtest/gtest.h>

#include "inspect/model_run.h"
#include "models/generate.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

using headlight::testing::SmallKind;
using headlight::testing::TempFolder;
using headlight::testing::write_small_model;

TEST(LastRow, IsTheRowOfAFullRun) {
  TempFolder folder;
  write_small_model(folder.root().string(), SmallKind::decoder);
  const LoadedModel loaded = open_model(folder.root().string(), {});
  Context ctx({.threads = 1});
  std::vector<std::int32_t> ids = loaded.tokenizer->encode("the cat sat on");
  models::Tokens prompt;
  prompt.append(ids);
  for (const std::optional<HeadPlace> head :
       {std::optional<HeadPlace>(HeadPlace{0, 1}), std::optional<HeadPlace>()}) {
    LastRow last(choose_row(loaded, Part::decoder, head));
    std::vector<std::vector<float>> rows;
    models::SamplingOptions options{.most = 5, .stop_at_eos = false, .observer = &last};
    options.on_token = [&](const models::NewToken&) { return rows.push_back(last.weights()), true; };
    std::vector<std::int32_t> all = ids;
    const std::vector<std::int32_t> added = models::generate(ctx, *loaded.model, prompt, options)[0];
    all.insert(all.end(), added.begin(), added.end() - 1);
    MapRequest request;
    if (head) request.heads = {*head};
    else request.heads = {{1, 0}, {1, 1}};
    MapRecorder recorder(request);
    ModelInput input;
    input.source = read_ids(&*loaded.tokenizer, all, loaded.model->config().vocabulary);
    (void)watch(ctx, loaded, input, recorder);
    const AttentionMap map = mean_of(recorder.maps(), "");
    ASSERT_EQ(rows.size(), 5U);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t query = ids.size() - 1 + i;
      ASSERT_EQ(rows[i].size(), query + 1);
      for (std::size_t j = 0; j <= query; ++j)
        EXPECT_NEAR(rows[i][j], map.at(static_cast<Index>(query), static_cast<Index>(j)), 1e-6);
    }
  }
}

TEST(LastRow, ChoosesHeads) {
  TempFolder folder;
  write_small_model(folder.root().string(), SmallKind::translator);
  const LoadedModel loaded = open_model(folder.root().string(), {});
  const RowChoice usual = choose_row(loaded, Part::cross, std::nullopt);
  EXPECT_EQ(usual.layer, 1);
  EXPECT_FALSE(usual.head.has_value());
  EXPECT_EQ(title_of(usual, loaded), "cross layer 1, mean of 2 heads");
  EXPECT_EQ(title_of(choose_row(loaded, Part::cross, HeadPlace{0, 1}), loaded), "cross layer 0, head 1");
}

}  // namespace
}  // namespace headlight::inspect
