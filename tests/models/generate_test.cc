// Writing against another implementation's greedy and beam outputs, with and without a cache.
#include "models/generate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/golden.h"
#include "support/central_difference.h"
#include "support/errors.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::fill;

std::vector<std::int32_t> row(const Tensor& ids, Index b, Index first) {
  std::vector<std::int32_t> tokens;
  for (Index t = first; t < ids.dim(1); ++t) tokens.push_back(static_cast<std::int32_t>(ids.at(b, t)));
  return tokens;
}

class GoldenText : public ::testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder_ = GetParam();
  Context ctx_{{.threads = 2}};
};
class GoldenGreedy : public GoldenText {};
class GoldenTranslation : public GoldenText {};

TEST_P(GoldenGreedy, ContinuesWithACache) {
  const Golden golden(folder_);
  const LoadedTransformer loaded = load_transformer(folder_.string());
  Tokens prompts;
  prompts.append(row(golden.at("greedy.prompt_ids"), 0, 0));
  const Index most = golden.at("greedy.output_ids").dim(1) - prompts.size();
  const auto written = generate(ctx_, *loaded.model, prompts, {.most = most, .stop_at_eos = false});
  EXPECT_EQ(written.at(0), row(golden.at("greedy.output_ids"), 0, prompts.size()));
}

TEST_P(GoldenTranslation, GreedyAndBeams) {
  const Golden golden(folder_);
  const LoadedTransformer loaded = load_transformer(folder_.string());
  const auto& sound = loaded.model->config().sound;
  const Tokens source = sound ? golden.sound(sound->positions) : golden.tokens("input_ids", "attention_mask");
  const Index most = golden.at("greedy.output_ids").dim(1) - 1;
  const auto written = transform(ctx_, *loaded.model, source, {.most = most, .stop_at_eos = false});
  for (Index b = 0; b < 2; ++b)
    EXPECT_EQ(written.at(static_cast<std::size_t>(b)), row(golden.at("greedy.output_ids"), b, 1));
  if (!golden.has("beam4.output_ids")) return;  // Whisper
  const auto found = beam_search(ctx_, *loaded.model, source, {.beams = 4, .most = 10});
  const std::int32_t eos = loaded.model->config().end();
  for (Index b = 0; b < 2; ++b) {
    const auto s = static_cast<std::size_t>(b);
    std::vector<std::int32_t> best = row(golden.at("beam4.output_ids"), b, 1);
    best.erase(std::find(best.begin(), best.end(), eos), best.end());
    EXPECT_EQ(found.at(s).at(0).tokens, best);
    EXPECT_NEAR(found.at(s).at(0).score, golden.at("beam4.sequences_scores").at(b), 1e-4);
  }
}

// marian_opus is in tokenizer_pieces_test.cc: its generation_config.json changes the beams.
std::vector<std::string> golden2_translation() {
  std::vector<std::string> list;
  const auto shared = headlight::testing::shared_data();
  for (const char* name : {"mt5", "mbart", "m2m_100", "pegasus", "whisper"})
    if (shared && std::filesystem::exists(*shared / "golden2" / name))
      list.push_back((*shared / "golden2" / name).string());
  return list;
}

constexpr const char* kGreedy[] = {
    "gpt2",  "gpt_neo", "gpt_neox", "llama",           "llama3_rope",   "llama_bf16",   "qwen2_sharded",
    "qwen3", "gemma",   "gemma2",   "gemma3",          "mistral",       "phi",          "phi3",
    "bloom", "opt",     "falcon",   "gpt_neox_serial", "falcon_groups", "phi3_longrope"};
constexpr const char* kTranslation[] = {"t5", "t5_gated", "marian", "bart"};
INSTANTIATE_TEST_SUITE_P(All, GoldenGreedy, ::testing::ValuesIn(headlight::testing::golden_folders(kGreedy)),
                         headlight::testing::golden_name);
INSTANTIATE_TEST_SUITE_P(All, GoldenTranslation,
                         ::testing::ValuesIn(headlight::testing::golden_folders(kTranslation)),
                         headlight::testing::golden_name);
INSTANTIATE_TEST_SUITE_P(Golden2, GoldenTranslation, ::testing::ValuesIn(golden2_translation()),
                         headlight::testing::golden_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenTranslation);

}  // namespace
}  // namespace headlight::models
