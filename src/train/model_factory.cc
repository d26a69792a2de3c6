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

void set_layers(TransformerConfig& c, const ModelRecipe& recipe) {
  if (recipe.positions == "none") c.positions = PositionKind::none;
  if (recipe.positions == "learned") c.positions = PositionKind::learned;
  if (recipe.positions == "sinusoidal") c.positions = PositionKind::sinusoidal;
  if (recipe.positions == "rope") c.positions = PositionKind::rope;
  if (recipe.positions == "alibi") c.positions = PositionKind::alibi;
  if (recipe.rope_theta > 0 && c.positions != PositionKind::rope)
    refuse("model.rope_theta is for rotary positions, which this model does not have");
  if (recipe.rope_theta > 0) c.rope.theta = recipe.rope_theta;
  if (recipe.norm == "layer") c.norm.kind = nn::NormKind::layer;
  if (recipe.norm == "rms") c.norm.kind = nn::NormKind::rms;
  if (recipe.norm_place == "before") c.norm_place = nn::NormPlace::before;
  if (recipe.norm_place == "after") c.norm_place = nn::NormPlace::after;
  if (!recipe.norm_place.empty()) c.final_norm = c.norm_place == nn::NormPlace::before;
  if (recipe.activation == "relu") c.activation = nn::Activation::relu;
  if (recipe.activation == "gelu") c.activation = nn::Activation::gelu;
  if (recipe.activation == "gelu_tanh") c.activation = nn::Activation::gelu_tanh;
  if (recipe.activation == "silu") c.activation = nn::Activation::silu;
  if (recipe.gated) c.gated = *recipe.gated;
  if (recipe.bias) c.qkv_bias = c.out_bias = c.feed_forward_bias = *recipe.bias;
  if (recipe.tied) c.tied = *recipe.tied;
}

TransformerConfig transformer_config(const ModelRecipe& recipe, const ModelNeeds& needs) {
  TransformerConfig c = starting_point(recipe, needs);
  if (recipe.encoder_layers) c.encoder_layers = *recipe.encoder_layers;
  if (recipe.kv_heads) c.kv_heads = *recipe.kv_heads;
  if (recipe.inner) c.inner = c.encoder_inner = *recipe.inner;
  set_layers(c, recipe);
  c.dropout = recipe.dropout;
  c.attention_dropout = recipe.attention_dropout;
  if (c.kind != ModelKind::encoder) {  // BERT's config.json knows no begin and end
    c.bos = needs.special.begin.value_or(-1);
    models::add_end(c, needs.special.end.value_or(-1));
  }
  c.pad = needs.special.pad.value_or(-1);
  if (c.kind == ModelKind::encoder_decoder) c.decoder_start = needs.special.begin.value_or(c.pad);
  return models::completed(c);
}

// Settings that only transformers have must not be given in vain.
models::RecurrentModelConfig recurrent_config(const ModelRecipe& recipe, const ModelNeeds& needs) {
  if (recipe.heads || recipe.kv_heads || recipe.inner || recipe.encoder_layers || recipe.gated ||
      recipe.bias || !recipe.preset.empty() || !recipe.positions.empty() || !recipe.norm.empty() ||
      !recipe.norm_place.empty() || !recipe.activation.empty() || recipe.attention_dropout > 0 ||
      recipe.rope_theta > 0)
    refuse(
        concat("\"", recipe.kind,
               "\" has width, layers, dropout, tied and attention; the other settings are a transformer's"));
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
  // Weight decay pulls matrices towards zero; biases, and norms that multiply with one, have no reason to go there.
  for (Parameter* parameter : model->parameters()) parameter->decays = parameter->value.rank() > 1;
  (void)model->config_json();  // what no file can say is refused now, not at the first checkpoint
  return model;
}

}  // namespace headlight::train
