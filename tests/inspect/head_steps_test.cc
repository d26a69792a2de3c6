// The steps of one weight against whole models of another implementation, for every recipe that the modules have.
#include "inspect/head_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "models/golden.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

using models::Golden;
using models::ModelKind;

std::vector<std::int32_t> first_row(const models::Tokens& tokens) {
  return {tokens.ids.begin(), tokens.ids.begin() + tokens.starts[1]};
}

struct Case {
  LoadedModel loaded;
  ModelInput input;
  Golden golden;

  explicit Case(const std::string& folder) : loaded(open_model(folder, {})), golden(folder) {
    const models::TransformerConfig& c = loaded.model->config();
    if (c.sound) {
      const Tensor& all = golden.at("input_features");
      Tensor first({all.dim(1), all.dim(2)});
      std::copy_n(all.as<float>(), first.shape().elements(), first.as<float>());
      input.source = read_features(first, c.sound->positions);
    } else {
      input.source = read_ids(nullptr, first_row(golden.tokens("input_ids", "attention_mask")), c.vocabulary);
    }
    if (golden.has("token_type_ids"))
      input.types = first_row(golden.tokens("token_type_ids", "attention_mask"));
    if (c.kind != ModelKind::encoder_decoder) return;
    // What the decoder read is the start and all but the last of what it wrote.
    std::vector<std::int32_t> written =
        first_row(golden.tokens("decoder_input_ids", "decoder_attention_mask"));
    written.erase(written.begin());
    written.push_back(0);
    input.written = read_ids(nullptr, written, c.vocabulary);
  }
  [[nodiscard]] std::string name_of_weights(Part part, Index layer) const {
    const std::string number = "attentions." + std::to_string(layer);
    if (loaded.model->config().kind != ModelKind::encoder_decoder) return number;
    return std::string(headlight::name_of(part)) + "_" + number;
  }
  [[nodiscard]] Index rows(Part part) const {
    return part == Part::encoder || input.written.tokens.empty() ? input.source.size() : input.written.size();
  }
};

void expect_row(const Case& c, const HeadSteps& s) {
  const StepsRequest& r = s.request;
  const Tensor& golden = c.golden.at(c.name_of_weights(r.part, r.place.layer));
  for (std::size_t j = 0; j < s.weights.size(); ++j) {
    EXPECT_NEAR(s.weights[j], golden.at(Index{0}, Index{r.place.head}, r.query, static_cast<Index>(j)), 1e-5)
        << headlight::name_of(r.part) << " " << r.place.layer << "." << r.place.head << " from " << r.query;
  }
  EXPECT_LE(s.kernel_gap(), kExplainedWithin);
  EXPECT_LE(s.reference_gap(), kExplainedWithin);
  EXPECT_NEAR(std::accumulate(s.weights.begin(), s.weights.end(), s.sink_weight), 1, 1e-12);
}

class HeadStepsOf : public ::testing::TestWithParam<std::string> {};

TEST_P(HeadStepsOf, AgreesWithTheModelAndTheOtherImplementation) {
  const Case c(GetParam());
  Context ctx({.threads = 1});
  int done = 0;
  for (const Part part : {Part::encoder, Part::decoder, Part::cross}) {
    if (!c.loaded.has(part)) continue;
    ArrayRecorder arrays({.z = true});
    (void)watch(ctx, c.loaded, c.input, arrays);
    for (const Index layer : {Index{0}, c.loaded.layers(part) - 1}) {
      const Index head = c.loaded.heads(part) - 1, query = c.rows(part) - 1 - layer % 2;
      const HeadSteps s =
          head_steps(ctx, c.loaded, c.input,
                     {part, {static_cast<int>(layer), static_cast<int>(head)}, query, query / 2});
      expect_row(c, s);
      const std::string name = std::string(headlight::name_of(part)) + "_" + std::to_string(layer) + "_z";
      for (const NamedArray& array : arrays.arrays()) {
        if (array.name != name) continue;
        ++done;
        for (std::size_t d = 0; d < s.context.size(); ++d) {
          const double z = array.tensor.at(head, query, static_cast<Index>(d));
          EXPECT_NEAR(s.context[d], z, 2e-5 * std::max(1.0, std::abs(z))) << name;
        }
      }
    }
  }
  EXPECT_GE(done, 2);
}

INSTANTIATE_TEST_SUITE_P(Families, HeadStepsOf,
                         ::testing::ValuesIn(headlight::testing::golden_folders(models::kGoldenFamilies)),
                         headlight::testing::golden_name);

// The steps that each recipe has, and no other.
TEST(HeadSteps, HasTheStepsOfItsModel) {
  Context ctx({.threads = 1});
  const auto steps = [&](const std::string& family, Part part) {
    const Case c(headlight::testing::golden_folder(family).string());
    return head_steps(ctx, c.loaded, c.input, {part, {0, 1}, 3, 1});
  };
  const HeadSteps gpt2 = steps("gpt2", Part::decoder);
  EXPECT_TRUE(gpt2.norm && gpt2.norm->kind == nn::NormKind::layer && gpt2.qkv_bias && gpt2.usual_scale);
  EXPECT_FALSE(gpt2.rotation || gpt2.head_norm || gpt2.has_bias || gpt2.slope != 0 || gpt2.softcap > 0);
  const HeadSteps llama = steps("llama", Part::decoder);
  EXPECT_TRUE(llama.rotation && llama.norm->kind == nn::NormKind::rms && llama.kv_heads < llama.heads);
  EXPECT_TRUE(steps("qwen3", Part::decoder).head_norm);
  EXPECT_GT(steps("gemma2", Part::decoder).softcap, 0);
  EXPECT_FALSE(steps("gemma2", Part::decoder).usual_scale);
  EXPECT_GT(steps("bloom", Part::decoder).slope, 0);
  const HeadSteps t5 = steps("t5", Part::decoder);
  EXPECT_TRUE(t5.has_bias && t5.scale == 1 && !t5.usual_scale);
  EXPECT_FALSE(steps("t5", Part::cross).has_bias);
  const HeadSteps cross = steps("marian", Part::cross);
  EXPECT_TRUE(cross.cross && cross.query.stream.empty() && cross.key.stream.empty());
  EXPECT_FALSE(steps("bert", Part::encoder).norm);
  EXPECT_EQ(steps("bert", Part::encoder).seen.size(),
            static_cast<Index>(steps("bert", Part::encoder).weights.size()));
}

// What all heads add, and the bias, is what the layer returned: the stream after it is the sum.
TEST(HeadSteps, PartsOfAllHeadsMakeTheStream) {
  testing::TempFolder folder;
  testing::write_small_model(folder.root().string(), testing::SmallKind::decoder);
  const LoadedModel loaded = open_model(folder.root().string(), {});
  Context ctx({.threads = 1});
  const ModelInput input{.source = read_text(*loaded.tokenizer, "the cat sat")};
  const nn::Block& block = loaded.model->stack(Part::decoder).blocks[0];
  Numbers sum;
  HeadSteps s;
  for (int head = 0; head < 2; ++head) {
    s = head_steps(ctx, loaded, input, {Part::decoder, {0, head}, 3, 1});
    sum.resize(s.output.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += s.output[i];
  }
  Tensor x({s.query.token + 1, s.width});
  for (Index t = 0; t <= s.query.token; ++t) {
    const HeadSteps of = head_steps(ctx, loaded, input, {Part::decoder, {0, 0}, t, 0});
    for (Index d = 0; d < s.width; ++d) x.view().set(t, d, of.query.x[static_cast<std::size_t>(d)]);
  }
  const Tensor y = block.attention.forward(ctx, x, {});
  for (Index d = 0; d < s.width; ++d)
    EXPECT_NEAR(sum[static_cast<std::size_t>(d)] + block.attention.out.bias.value.at(d),
                y.at(s.query.token, d), 1e-5);
}

TEST(HeadSteps, RefusesARunWithoutThatAttention) {
  testing::TempFolder folder;
  testing::write_small_model(folder.root().string(), testing::SmallKind::translator);
  const LoadedModel loaded = open_model(folder.root().string(), {});
  Context ctx({.threads = 1});
  const ModelInput input{.source = read_text(*loaded.tokenizer, "the cat sat")};  // nothing was written
  EXPECT_THROW((void)head_steps(ctx, loaded, input, {Part::cross, {0, 0}, 0, 0}), Error);
}

}  // namespace
}  // namespace headlight::inspect
