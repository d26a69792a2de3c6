// Whole models: every parameter's gradient against central differences in f64.
#include <gtest/gtest.h>

#include "models/transformer.h"
#include "support/central_difference.h"

namespace headlight::models {
namespace {

using headlight::testing::compare_parameters;
using headlight::testing::fill;

struct Row {
  std::string name;
  TransformerConfig config;
  LearnOptions options = {.scale = 1};
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

TransformerConfig small(TransformerConfig c) {
  c.dtype = DType::f64;
  c.norm.eps = 1e-5;
  return c;
}

std::vector<Row> rows() {
  const Sizes sizes{.vocabulary = 7, .width = 8, .layers = 2, .heads = 2, .context = 8};
  std::vector<Row> list;
  const auto add = [&](std::string name, TransformerConfig config, LearnOptions options = {}) {
    list.push_back({std::move(name), small(std::move(config)), options});
  };
  add("gpt", gpt_config(sizes));
  add("llama", llama_config(sizes));
  add("bert", bert_config(sizes));
  Sizes shallow = sizes;
  shallow.layers = 1;
  add("translation", translation_config(shallow));
  add("gpt_smoothed", gpt_config(sizes), {.scale = 0.5, .label_smoothing = 0.1});
  TransformerConfig dropped = gpt_config(sizes);
  dropped.dropout = 0.2, dropped.attention_dropout = 0.1;
  add("gpt_dropout", dropped, {.scale = 1, .dropout_seed = 7});
  TransformerConfig lossy = translation_config(shallow);
  lossy.dropout = 0.2, lossy.attention_dropout = 0.1;
  add("translation_dropout", lossy, {.scale = 1, .label_smoothing = 0.1, .dropout_seed = 3});
  // What the other families do differently.
  TransformerConfig gemma = llama_config(sizes);
  gemma.family = "gemma3_text";
  gemma.norm_place = nn::NormPlace::both, gemma.norm.weight_plus_one = true, gemma.head_norm = true;
  gemma.kv_heads = 1, gemma.windows = {2, 0}, gemma.window_rope = nn::RopeConfig{.theta = 50};
  gemma.attention_softcap = 3, gemma.final_softcap = 4, gemma.embedding_scale = 1.7,
  gemma.attention_scale = 0.6;
  add("gemma", gemma);
  TransformerConfig t5 = translation_config(sizes);
  t5.family = "t5";
  t5.norm = {.kind = nn::NormKind::rms}, t5.norm_place = nn::NormPlace::before, t5.final_norm = true;
  t5.positions = PositionKind::relative, t5.relative_buckets = 4, t5.relative_distance = 6;
  t5.qkv_bias = t5.out_bias = t5.feed_forward_bias = t5.logits_bias = false;
  t5.attention_scale = 1, t5.head_scale = 0.4, t5.gated = true, t5.layers = t5.encoder_layers = 1;
  add("t5", t5);
  TransformerConfig bloom = gpt_config(sizes);
  bloom.family = "bloom";
  bloom.layout = nn::WeightLayout::out_in, bloom.projections = nn::Projections::by_head;
  bloom.positions = PositionKind::alibi, bloom.embedding_norm = true;
  add("bloom", bloom);
  TransformerConfig phi = gpt_config(sizes);
  phi.family = "phi";
  phi.layout = nn::WeightLayout::out_in, phi.projections = nn::Projections::separate;
  phi.block_shape = nn::BlockShape::parallel_one_norm, phi.positions = PositionKind::rope, phi.rope.dims = 2;
  phi.tied = false, phi.head_bias = true;
  add("phi", phi);
  TransformerConfig neox = bloom;
  neox.family = "gpt_neox";
  neox.block_shape = nn::BlockShape::parallel, neox.positions = PositionKind::rope,
  neox.embedding_norm = false;
  neox.tied = false;
  add("gpt_neox", neox);
  return list;
}

Batch batch_for(const TransformerConfig& c) {
  Batch batch;
  batch.input.append(std::vector<std::int32_t>{1, 2, 3, 4, 2});
  batch.input.append(std::vector<std::int32_t>{5, 1, 6});
  batch.targets = {2, 3, kIgnored, 2, 6, 1, 6, 0};
  if (c.token_types > 0) batch.type_ids = {0, 0, 1, 1, 1, 0, 1, 1};
  if (c.kind == ModelKind::encoder_decoder) {
    batch.source.append(std::vector<std::int32_t>{3, 1, 4});
    batch.source.append(std::vector<std::int32_t>{2, 6, 5, 3});
  }
  return batch;
}

class ModelGradients : public ::testing::TestWithParam<Row> {};

TEST_P(ModelGradients, MatchDifferences) {
  Transformer model(GetParam().config);
  const Parameters parameters = model.parameters();
  fill(parameters, 11);
  Context ctx({.threads = 1});
  const Batch batch = batch_for(model.config());
  (void)model.learn(ctx, batch, GetParam().options);
  std::vector<Tensor> grads;
  for (Parameter* p : parameters) grads.push_back(std::move(p->grad));
  const LearnOptions& options = GetParam().options;
  const bool plain = options.label_smoothing == 0 && model.config().dropout == 0;
  const auto loss = [&] {
    if (plain) return model.evaluate(ctx, batch).sum * options.scale;  // forward alone is quicker
    for (Parameter* p : parameters) p->grad = {};
    return model.learn(ctx, batch, options).sum * options.scale;
  };
  headlight::testing::Difference worst;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]->trained)
      headlight::testing::compare_differences(parameters[i]->name, parameters[i]->value, grads[i], loss,
                                              worst);
  }
  EXPECT_LT(worst.worst, 1e-7) << worst.where;
}

INSTANTIATE_TEST_SUITE_P(All, ModelGradients, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace headlight::models
