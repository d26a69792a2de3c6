// Shares of a logit: they add up to it, whatever the order of norms, and a head that writes nothing has none.
#include "inspect/attribution.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::inspect {
namespace {

LoadedModel loaded_model(models::TransformerConfig config) {
  config.initial_range = 0.4;
  config.ends = {1};
  config.decoder_start = config.pad = 0;
  LoadedModel loaded;
  loaded.name = "small";
  loaded.model = std::make_unique<models::Transformer>(config);
  loaded.model->initialize(3);
  // Norms that do something.
  std::uint32_t state = 1;
  for (Parameter* p : loaded.model->parameters())
    if (p->value.rank() == 1)
      for (Index i = 0; i < p->value.dim(0); ++i) {
        state = state * 1664525U + 1013904223U;
        p->value.view().set(i, p->value.at(i) + static_cast<double>(state >> 16) / 65536 - 0.5);
      }
  return loaded;
}

ModelInput input_of(const LoadedModel& loaded) {
  const Index vocabulary = loaded.model->config().vocabulary;
  ModelInput q{.source = read_ids(nullptr, {5, 9, 2, 30, 11}, vocabulary)};
  if (loaded.model->config().kind == models::ModelKind::encoder_decoder)
    q.written = read_ids(nullptr, {7, 8, 3, 1}, vocabulary);
  return q;
}

constexpr models::Sizes kSizes{.vocabulary = 31, .width = 16, .layers = 3, .heads = 2, .context = 16};

models::TransformerConfig config_of(const std::string& name) {
  if (name == "gpt") return models::gpt_config(kSizes);
  if (name == "translator") return models::translation_config(kSizes);
  models::TransformerConfig c = models::llama_config(kSizes);
  models::each_layer(c, [&](nn::BlockConfig& b) {
    if (name == "both") b.norm_place = nn::NormPlace::both;
    if (name == "parallel") b.shape = nn::BlockShape::parallel;
    if (name == "plus_one") b.norm.weight_plus_one = true;
  });
  if (name == "plus_one") c.final_norm->weight_plus_one = true, c.head.scale = 0.25, c.head.tied = false;
  return c;
}

class AttributionOf : public ::testing::TestWithParam<const char*> {};

TEST_P(AttributionOf, SharesAddUpToTheLogit) {
  Context ctx({.threads = 1});
  const LoadedModel loaded = loaded_model(config_of(GetParam()));
  const ModelInput input = input_of(loaded);
  const Tensor logits = run(ctx, loaded, input);
  for (const Index row : {Index{0}, logits.dim(0) - 1}) {
    for (const std::int32_t token : {0, 12, 30}) {
      const Attribution a = attribute_logit(ctx, loaded, input, row, token);
      const bool both = loaded.model->config().kind == models::ModelKind::encoder_decoder;
      EXPECT_EQ(a.heads.size(), both ? 12U : 6U);
      EXPECT_NEAR(a.logit, logits.at(row, Index{token}), 1e-4);
      EXPECT_NEAR(a.sum(), a.logit, 1e-4);
    }
  }
}

TEST_P(AttributionOf, AHeadThatWritesNothingHasNoShare) {
  Context ctx({.threads = 1});
  const LoadedModel loaded = loaded_model(config_of(GetParam()));
  const auto& out = loaded.model->stack(Part::decoder).blocks[1].attention.out;
  const TensorView w = const_cast<Tensor&>(out.weight.value).view();
  const bool transposed = out.config().layout == nn::WeightLayout::in_out;
  for (Index i = 8; i < 16; ++i)
    for (Index o = 0; o < 16; ++o) transposed ? w.set(i, o, 0) : w.set(o, i, 0);
  const Attribution a = attribute_logit(ctx, loaded, input_of(loaded), 2, 12);
  for (const HeadContribution& head : a.heads) {
    const bool silent = head.part == Part::decoder && head.head == HeadPlace{1, 1};
    EXPECT_EQ(std::abs(head.logit) < 1e-12, silent)
        << name_of(head.part) << head.head.layer << head.head.head;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AttributionOf,
                         ::testing::Values("gpt", "llama", "both", "parallel", "plus_one", "translator"));

TEST(Attribution, RefusesWhatIsNoSum) {
  Context ctx({.threads = 1});
  const LoadedModel loaded = loaded_model(models::bert_config(kSizes));
  testing::expect_error([&] { (void)attribute_logit(ctx, loaded, input_of(loaded), 0, 0); }, ErrorKind::usage,
                        "attribution.model", "has a layer with an activation before its logits");
}

}  // namespace
}  // namespace headlight::inspect
