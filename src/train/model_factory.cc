#include "train/model_factory.h"

#include "core/concat.h"
#include "headlight/error.h"
#include "models/recurrent.h"
#include "models/transformer.h"

namespace headlight::train {
namespace {

using models::ModelKind;
using models::PositionKind;
using models::TransformerConfig;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::usage, "recipe.model", "model: " + what);
}

TransformerConfig starting_point(const ModelRecipe& recipe, const ModelNeeds& needs) {
  if (!recipe.preset.empty()) return models::preset(recipe.preset, needs.vocabulary, needs.context);
  if (!recipe.width || !recipe.layers || !recipe.heads)
    refuse("model.width, model.layers and model.heads must be given, or model.preset");
  const models::Sizes sizes{needs.vocabulary, *recipe.width, *recipe.layers, *recipe.heads, needs.context};
  if (recipe.kind == "llama") return models::llama_config(sizes);
  if (recipe.kind == "encoder") return models::bert_config(sizes);
  if (recipe.kind == "encoder-decoder") return models::translation_config(sizes);
  return models::gpt_config(sizes);
}

// The name in a recipe and its meaning; an empty name changes nothing.
template <class Value>
struct Choice {
  std::string_view name;
  Value value;
};
constexpr Choice<PositionKind> kPositions[] = {{"none", PositionKind::none},
                                               {"learned", PositionKind::learned},
                                               {"sinusoidal", PositionKind::sinusoidal},
                                               {"rope", PositionKind::rope},
                                               {"alibi", PositionKind::alibi}};
constexpr Choice<nn::Activation> kActivations[] = {{"relu", nn::Activation::relu},
                                                   {"gelu", nn::Activation::gelu},
                                                   {"gelu_tanh", nn::Activation::gelu_tanh},
                                                   {"silu", nn::Activation::silu}};

void set_norms(TransformerConfig& c, const ModelRecipe& recipe) {
  const auto set_kind = [&](nn::NormConfig& norm) {
    if (!recipe.norm.empty()) norm.kind = recipe.norm == "rms" ? nn::NormKind::rms : nn::NormKind::layer;
  };
  models::each_layer(c, [&](nn::BlockConfig& block) {
    set_kind(block.norm);
    if (recipe.norm_place == "before") block.norm_place = nn::NormPlace::before;
    if (recipe.norm_place == "after") block.norm_place = nn::NormPlace::after;
  });
  if (recipe.norm_place == "after") c.final_norm.reset();
  if (recipe.norm_place == "before" && !c.final_norm) c.final_norm = c.main().front().norm;
  if (c.final_norm) set_kind(*c.final_norm);
  if (c.embedding.norm) set_kind(*c.embedding.norm);
  if (c.head.masked) set_kind(c.head.masked->norm);
}

void set_positions(TransformerConfig& c, const ModelRecipe& recipe) {
  const auto rotates = [&] { return c.main().front().attention.rope.has_value(); };
  for (const auto& [name, kind] : kPositions)
    if (name == recipe.positions && !(kind == PositionKind::rope && rotates()))
      models::set_positions(c, kind);
  if (recipe.rope_theta <= 0) return;
  if (!rotates()) refuse("model.rope_theta is for rotary positions, which this model does not have");
  models::set_positions(c, PositionKind::rope, {.theta = recipe.rope_theta});
}

void set_layers(TransformerConfig& c, const ModelRecipe& recipe) {
  set_positions(c, recipe);
  set_norms(c, recipe);
  models::each_layer(c, [&](nn::BlockConfig& block) {
    nn::FeedForwardConfig& f = block.feed_forward;
    for (const auto& [name, activation] : kActivations)
      if (name == recipe.activation) f.activation = activation;
    if (c.head.masked) c.head.masked->activation = f.activation;
    if (recipe.gated) f.gated = *recipe.gated;
    if (recipe.bias) f.bias = *recipe.bias;
    if (recipe.inner) f.inner = *recipe.inner;
    if (recipe.encoder_inner && block.attention.part == Part::encoder) f.inner = *recipe.encoder_inner;
    block.dropout = recipe.dropout;
  });
  models::each_attention(c, [&](nn::MultiHeadAttentionConfig& a) {
    if (recipe.bias) a.qkv_bias = a.out_bias = *recipe.bias;
    if (recipe.kv_heads && a.part != Part::encoder) a.kv_heads = *recipe.kv_heads;
    if (recipe.kv_heads && c.kind == ModelKind::encoder) a.kv_heads = *recipe.kv_heads;
    a.dropout = recipe.attention_dropout;
  });
  if (recipe.tied) c.head.tied = *recipe.tied;
}

TransformerConfig transformer_config(const ModelRecipe& recipe, const ModelNeeds& needs) {
  TransformerConfig c = starting_point(recipe, needs);
  if (recipe.encoder_layers && c.kind == ModelKind::encoder_decoder) {
    if (*recipe.encoder_layers < 1) refuse("model.encoder_layers must be 1 or more");
    c.encoder = models::alike(c.encoder.front(), *recipe.encoder_layers, Part::encoder);
  }
  set_layers(c, recipe);
  c.dropout = recipe.dropout;
  if (c.kind != ModelKind::encoder) {  // BERT's config.json has no fields for the begin and end tokens
    c.bos = needs.special.begin.value_or(-1);
    models::add_end(c, needs.special.end.value_or(-1));
  }
  c.pad = needs.special.pad.value_or(-1);
  if (c.kind == ModelKind::encoder_decoder) c.decoder_start = needs.special.begin.value_or(c.pad);
  return models::completed(c);
}

// Settings that only transformers have are an error for other kinds.
models::RecurrentModelConfig recurrent_config(const ModelRecipe& recipe, const ModelNeeds& needs) {
  if (recipe.heads || recipe.kv_heads || recipe.inner || recipe.encoder_inner || recipe.encoder_layers ||
      recipe.gated || recipe.bias || !recipe.preset.empty() || !recipe.positions.empty() ||
      !recipe.norm.empty() || !recipe.norm_place.empty() || !recipe.activation.empty() ||
      recipe.attention_dropout > 0 || recipe.rope_theta > 0)
    refuse(concat(
        "\"", recipe.kind,
        "\" has only width, layers, dropout, tied and attention; the other settings are for transformers"));
  if (!recipe.width || !recipe.layers) refuse("model.width and model.layers must be given");
  models::RecurrentModelConfig c;
  c.cell = recipe.kind.starts_with("lstm") ? nn::CellKind::lstm : nn::CellKind::gru;
  c.encoder_decoder = recipe.kind.ends_with("-seq2seq");
  c.attention = c.encoder_decoder && recipe.attention;
  c.vocabulary = needs.vocabulary;
  c.width = *recipe.width;
  c.layers = *recipe.layers;
  if (recipe.tied) c.tied = *recipe.tied;
  c.dropout = recipe.dropout;
  c.bos = needs.special.begin.value_or(-1);
  c.eos = needs.special.end.value_or(-1);
  c.pad = needs.special.pad.value_or(-1);
  if (c.encoder_decoder) c.decoder_start = needs.special.begin.value_or(c.pad);
  return c;
}

void check_source(const ModelRecipe& recipe, const ModelNeeds& needs, bool reads_source) {
  if (needs.source == reads_source) return;
  refuse(needs.source
             ? concat("the task has a source and a target; \"", recipe.kind, "\" reads one sequence only")
             : concat("\"", recipe.kind, "\" reads a source; the task has none"));
}

}  // namespace

std::unique_ptr<models::Trainable> make_model(const ModelRecipe& recipe, const ModelNeeds& needs,
                                              std::uint64_t seed) {
  std::unique_ptr<models::Trainable> model;
  if (recipe.kind.starts_with("gru") || recipe.kind.starts_with("lstm")) {
    const models::RecurrentModelConfig config = recurrent_config(recipe, needs);
    check_source(recipe, needs, config.encoder_decoder);
    model = std::make_unique<models::RecurrentModel>(config);
  } else {
    const TransformerConfig config = transformer_config(recipe, needs);
    check_source(recipe, needs, config.kind == ModelKind::encoder_decoder);
    model = std::make_unique<models::Transformer>(config);
  }
  model->initialize(seed);
  // Weight decay pulls matrices towards zero; biases and norms are excluded.
  for (Parameter* parameter : model->parameters()) parameter->decays = parameter->value.rank() > 1;
  (void)model->config_json();  // refuses settings that no file can express now, not at the first checkpoint
  return model;
}

}  // namespace headlight::train
