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

void each_norm(TransformerConfig& c, const std::function<void(nn::NormConfig&)>& change) {
  each_layer(c, [&](nn::BlockConfig& b) { change(b.norm); });
  if (c.final_norm) change(*c.final_norm);
  if (c.embedding.norm) change(*c.embedding.norm);
  if (c.head.masked) change(c.head.masked->norm);
}

TransformerConfig small(TransformerConfig c) {
  c.dtype = DType::f64;
  each_norm(c, [](nn::NormConfig& norm) { norm.eps = 1e-5; });
  return c;
}

void drop(TransformerConfig& c, double rate, double attention) {
  c.dropout = rate;
  each_layer(c, [&](nn::BlockConfig& b) { b.dropout = rate; });
  each_attention(c, [&](nn::MultiHeadAttentionConfig& a) { a.dropout = attention; });
}

// What the other families do differently.
TransformerConfig gemma_of(const Sizes& sizes) {
  TransformerConfig c = llama_config(sizes);
  each_norm(c, [](nn::NormConfig& norm) { norm.weight_plus_one = true; });
  each_layer(c, [](nn::BlockConfig& b) {
    b.norm_place = nn::NormPlace::both;
    b.attention.head_norm = b.norm;
    b.attention.kv_heads = 1, b.attention.softcap = 3, b.attention.scale = 0.6;
  });
  c.decoder[0].attention.visible = Visibility::window(2);
  c.decoder[0].attention.rope = nn::RopeConfig{.theta = 50};
  c.head.softcap = 4, c.embedding.scale = 1.7;
  return c;
}

TransformerConfig t5_of(Sizes sizes) {
  sizes.layers = 1;
  TransformerConfig c = translation_config(sizes);
  c.final_norm = nn::NormConfig{.kind = nn::NormKind::rms};
  set_positions(c, PositionKind::none);
  c.relative = RelativePositions{4, 6};
  each_layer(c, [](nn::BlockConfig& b) {
    b.norm = {.kind = nn::NormKind::rms};
    b.norm_place = nn::NormPlace::before;
    b.feed_forward.bias = false, b.feed_forward.gated = true;
  });
  each_attention(c, [](nn::MultiHeadAttentionConfig& a) { a.qkv_bias = a.out_bias = false, a.scale = 1; });
  c.head.fixed_bias = false, c.head.scale = 0.4;
  return c;
}

TransformerConfig gpt_of(const Sizes& sizes, nn::Projections projections, nn::BlockShape shape) {
  TransformerConfig c = gpt_config(sizes);
  each_layer(c, [&](nn::BlockConfig& b) {
    b.attention.layout = b.feed_forward.layout = nn::WeightLayout::out_in;
    b.attention.projections = projections;
    b.shape = shape;
  });
  return c;
}

// Norms of what steps add, of all heads as one row; steps that count less; one layer that does not rotate.
TransformerConfig olmo_of(const Sizes& sizes) {
  TransformerConfig c = llama_config(sizes);
  each_layer(c, [](nn::BlockConfig& b) {
    b.norm_place = nn::NormPlace::output;
    b.residual_scale = 0.7;
    b.attention.head_norm = b.norm;
    b.attention.head_norm_place = nn::HeadNormPlace::all;
    b.attention.kv_heads = 1;
  });
  c.decoder[1].attention.rope.reset();
  return c;
}

// Chunks, norms of turned heads, queries that grow; experts whose weights are those of what they read.
TransformerConfig llama4_of(const Sizes& sizes) {
  TransformerConfig c = llama_config(sizes);
  nn::MultiHeadAttentionConfig &first = c.decoder[0].attention, &second = c.decoder[1].attention;
  first.visible = Visibility::chunks(3);
  first.head_norm = c.decoder[0].norm;
  first.head_norm->weighted = false;
  first.head_norm_place = nn::HeadNormPlace::turned;
  first.rope->interleaved = true;
  second.rope.reset();
  second.query_growth = nn::QueryGrowth{2, 0.5};
  c.decoder[1].experts = nn::ExpertsConfig{.count = 3,
                                           .used = 1,
                                           .score = nn::ExpertsConfig::Score::sigmoid,
                                           .weighs_input = true,
                                           .shared_inner = 5};
  c.decoder[1].feed_forward.inner = 6;
  c.decoder[1].feed_forward.gate_packed = true;
  c.decoder[1].feed_forward.layout = nn::WeightLayout::in_out;
  return c;
}

// Sinks, gates with a limit whose columns take turns, a router with a bias whose weights sum to 1.
TransformerConfig gpt_oss_of(const Sizes& sizes) {
  TransformerConfig c = llama_config(sizes);
  each_layer(c, [](nn::BlockConfig& b) {
    b.attention.sinks = true;
    b.experts = nn::ExpertsConfig{.count = 4, .used = 2, .renormalised = true, .router_bias = true};
    b.feed_forward.inner = 6;
    b.feed_forward.gate_packed = b.feed_forward.gate_pairs = b.feed_forward.bias = true;
    b.feed_forward.gate_limit = 0.8;
  });
  return c;
}

// Latent attention with narrow queries or without, and experts of groups.
TransformerConfig deepseek_of(const Sizes& sizes) {
  TransformerConfig c = llama_config(sizes);
  each_layer(c, [](nn::BlockConfig& b) {
    b.attention.head_dim = 6;
    b.attention.latent = nn::LatentConfig{.rank = 5, .turned_dim = 2, .value_dim = 3};
    b.attention.rope->interleaved = true;
  });
  c.decoder[1].attention.latent->query_rank = 4;
  c.decoder[0].experts = nn::ExpertsConfig{.count = 4, .used = 2, .scale = 1.5};
  c.decoder[1].experts = nn::ExpertsConfig{.count = 6,
                                           .used = 2,
                                           .score = nn::ExpertsConfig::Score::sigmoid,
                                           .renormalised = true,
                                           .scale = 2.5,
                                           .correction = true,
                                           .groups = 3,
                                           .groups_used = 2,
                                           .shared_inner = 4};
  each_layer(c, [](nn::BlockConfig& b) { b.feed_forward.inner = 5; });
  return c;
}

// One layer for all, narrow embeddings.
TransformerConfig albert_of(Sizes sizes) {
  sizes.layers = 3;
  TransformerConfig c = bert_config(sizes);
  c.one_layer = true;
  c.embedding.width = 6;
  c.embedding.widened = EmbeddingConfig::Widened::sum;
  c.embedding.widening_bias = true;
  return c;
}

// Narrow tokens on the way in and out, a feed-forward of squares.
TransformerConfig opt350_of(const Sizes& sizes) {
  TransformerConfig c = gpt_of(sizes, nn::Projections::separate, nn::BlockShape::serial);
  c.embedding.width = 5;
  c.head.narrowed = true;
  c.head.scale = 1.3;
  each_layer(c, [](nn::BlockConfig& b) { b.feed_forward.activation = nn::Activation::relu_squared; });
  return c;
}

// Windows on both sides, and a first layer that reads what had its norm.
TransformerConfig modernbert_of(const Sizes& sizes) {
  TransformerConfig c = bert_config(sizes);
  c.final_norm = nn::NormConfig{.bias = false};
  each_layer(c, [](nn::BlockConfig& b) { b.norm_place = nn::NormPlace::before; });
  c.encoder[0].attention_normed = false;
  c.encoder[1].attention.visible = {.left = 1, .right = 1};
  set_positions(c, PositionKind::rope);
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
  TransformerConfig deeper = translation_config(sizes);
  deeper.decoder.resize(1);
  add("translation_guided", deeper, {.scale = 0.5, .guide = {.layer = 1, .head = 1, .weight = 3}});
  add("gpt_smoothed", gpt_config(sizes), {.scale = 0.5, .label_smoothing = 0.1});
  TransformerConfig dropped = gpt_config(sizes);
  drop(dropped, 0.2, 0.1);
  add("gpt_dropout", dropped, {.scale = 1, .dropout_seed = 7});
  TransformerConfig lossy = translation_config(shallow);
  drop(lossy, 0.2, 0.1);
  add("translation_dropout", lossy, {.scale = 1, .label_smoothing = 0.1, .dropout_seed = 3});
  add("gemma", gemma_of(sizes));
  add("t5", t5_of(sizes));
  TransformerConfig bloom = gpt_of(sizes, nn::Projections::by_head, nn::BlockShape::serial);
  set_positions(bloom, PositionKind::alibi);
  bloom.embedding.norm = nn::NormConfig{};
  add("bloom", bloom);
  TransformerConfig phi = gpt_of(sizes, nn::Projections::separate, nn::BlockShape::parallel_one_norm);
  set_positions(phi, PositionKind::rope, {.dims = 2});
  phi.head.tied = false, phi.head.bias = true;
  add("phi", phi);
  TransformerConfig neox = gpt_of(sizes, nn::Projections::by_head, nn::BlockShape::parallel);
  set_positions(neox, PositionKind::rope);
  neox.head.tied = false;
  add("gpt_neox", neox);
  add("olmo", olmo_of(sizes));
  TransformerConfig plain = gpt_of(sizes, nn::Projections::separate, nn::BlockShape::serial);
  each_layer(plain, [](nn::BlockConfig& b) { b.residual = false; });
  add("no_residual", plain);
  add("llama4", llama4_of(sizes));
  add("gpt_oss", gpt_oss_of(sizes));
  add("deepseek", deepseek_of(sizes));
  add("albert", albert_of(sizes));
  add("opt350", opt350_of(sizes));
  add("modernbert", modernbert_of(sizes));
  TransformerConfig longer = llama_config(sizes);
  set_positions(
      longer, PositionKind::rope,
      {.dims = 2,
       .scaling = {.kind = nn::RopeScaling::Kind::longrope, .original_positions = 4, .attention_factor = 1.2},
       .factors = {1.5},
       .long_factors = {4}});
  add("longrope", longer);
  return list;
}

Batch batch_for(const TransformerConfig& c) {
  Batch batch;
  batch.input.append(std::vector<std::int32_t>{1, 2, 3, 4, 2});
  batch.input.append(std::vector<std::int32_t>{5, 1, 6});
  batch.targets = {2, 3, kIgnored, 2, 6, 1, 6, 0};
  if (c.embedding.token_types > 0) batch.type_ids = {0, 0, 1, 1, 1, 0, 1, 1};
  if (c.kind == ModelKind::encoder_decoder) {
    batch.source.append(std::vector<std::int32_t>{3, 1, 4});
    batch.source.append(std::vector<std::int32_t>{2, 6, 5, 3});
    batch.links = {{2, 0, 1}, {4, 5, 7}, {6, 3, 4}};
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
  const bool plain = options.label_smoothing == 0 && model.config().dropout == 0 && options.guide.weight == 0;
  const auto loss = [&] {
    if (plain) return model.evaluate(ctx, batch).sum * options.scale;  // forward alone is quicker
    for (Parameter* p : parameters) p->grad = {};
    const Loss all = model.learn(ctx, batch, options);
    return (all.sum + all.linked * options.guide.weight) * options.scale;
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
