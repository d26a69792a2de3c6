#include "train/start_model.h"

#include <algorithm>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/hash.h"
#include "models/adapter.h"
#include "models/generate.h"
#include "models/load.h"

namespace headlight::train {
namespace {

using models::ModelKind;
using models::TransformerConfig;

constexpr Index kWindow = 256, kSentence = 128;  // tokens, when neither the recipe nor the model says less

[[noreturn]] void refuse_start(const Recipe& recipe, const std::string& key, const std::string& what) {
  throw Error(ErrorKind::input, "recipe.start", concat(escaped(recipe.name), ": ", key, ": ", what));
}

std::string_view kind_name(ModelKind kind) {
  switch (kind) {
    case ModelKind::decoder: return "decoder";
    case ModelKind::encoder: return "encoder";
    case ModelKind::encoder_decoder: return "encoder-decoder";
  }
  return "?";
}

void check_sizes(const Recipe& recipe, const TransformerConfig& start) {
  const ModelRecipe& m = recipe.model;
  const nn::BlockConfig& block = start.main().front();
  const auto check = [&](const char* key, const std::optional<Index>& asked, Index found) {
    if (asked && *asked != found)
      refuse_start(recipe, key,
                   concat("the recipe sets ", *asked, ", but \"", escaped(m.start, 100), "\" has ", found,
                          "\n"
                          "  Sizes come from the model; leave them out."));
  };
  check("model.width", m.width, start.width);
  check("model.layers", m.layers, static_cast<Index>(start.main().size()));
  check("model.heads", m.heads, block.attention.heads);
  check("model.kv_heads", m.kv_heads, block.attention.kv_heads);
  if (!start.encoder.empty())
    check("model.encoder_layers", m.encoder_layers, static_cast<Index>(start.encoder.size()));
}

void check_kind(const Recipe& recipe, const TransformerConfig& start) {
  const std::string& asked = recipe.model.kind;
  const std::string_view found = kind_name(start.kind);
  if (asked == found || (asked == "llama" && start.kind == ModelKind::decoder)) return;
  refuse_start(recipe, "model.kind",
               concat("the recipe sets \"", asked, "\", but \"", escaped(recipe.model.start, 100),
                      "\" is of kind \"", found, "\""));
}

}  // namespace

TransformerConfig describe_start(const std::string& path) {
  const models::ModelFiles files(path);
  if (files.is_recurrent())
    throw Error(ErrorKind::usage, "recipe.model",
                concat("model.start: ", escaped(path),
                       " is a recurrent model; training can only start from transformers"));
  TransformerConfig config = files.describe().config;
  if (config.head.absent)
    throw Error(ErrorKind::usage, "recipe.model",
                concat("model.start: ", escaped(path),
                       " was stored without its prediction head, so it cannot be trained"));
  return config;
}

void complete_recipe(Recipe& recipe, const TransformerConfig& start) {
  ModelRecipe& m = recipe.model;
  if (m.kind.empty()) m.kind = kind_name(start.kind);
  else check_kind(recipe, start);
  check_sizes(recipe, start);
  if (recipe.data.task.empty()) {
    recipe.data.task = start.kind == ModelKind::decoder   ? "language"
                       : start.kind == ModelKind::encoder ? "masked"
                                                          : "translation";
    check_data(recipe.data, recipe.name);
  }
  const Index most = models::context_of(start);
  if (m.context == 0) {
    m.context = recipe.data.task == "translation" ? kSentence : kWindow;
    if (most > 0) m.context = std::min(m.context, most);
  }
}

bool changes_form(const ModelRecipe& m, const TransformerConfig& start) {
  const nn::BlockConfig& block = start.main().front();
  const Index most = models::context_of(start);
  const auto differs = [](const auto& asked, auto found) { return asked.has_value() && *asked != found; };
  const Index encoder_inner = start.encoder.empty() ? 0 : start.encoder.front().feed_forward.inner;
  return differs(m.inner, block.feed_forward.inner) ||
         (!start.encoder.empty() && differs(m.encoder_inner ? m.encoder_inner : m.inner, encoder_inner)) ||
         differs(m.gated, block.feed_forward.gated) || differs(m.tied, start.head.tied) ||
         m.bias.has_value() || !m.positions.empty() || !m.norm.empty() || !m.norm_place.empty() ||
         !m.activation.empty() || m.rope_theta > 0 || (most > 0 && m.context > most);
}

std::unique_ptr<models::Trainable> open_start(const std::string& path, const TransformerConfig& start,
                                              const Recipe& recipe) {
  const models::ModelFiles files(path);
  TransformerConfig config = start;
  config.dropout = recipe.model.dropout;
  models::each_layer(config, [&](nn::BlockConfig& block) { block.dropout = recipe.model.dropout; });
  models::each_attention(config, [&](nn::MultiHeadAttentionConfig& attention) {
    attention.dropout = recipe.model.attention_dropout;
  });
  std::unique_ptr<models::Transformer> model =
      models::load_transformer(files, config, {.weights = nn::Weights::own}).model;
  for (Parameter* parameter : model->parameters()) parameter->decays = parameter->value.rank() > 1;
  if (recipe.lora.rank == 0) {
    (void)model->config_json();  // refuses settings that no file can express now, not at the first checkpoint
    for (Parameter* parameter : model->parameters()) (void)model->file_name(*parameter);
    return model;
  }
  if (files.gguf() != nullptr)
    refuse_start(recipe, "lora.rank",
                 "adapters need a model folder; the rows of a GGUF file may be in another order");
  return std::make_unique<models::AdaptedTransformer>(
      std::move(model),
      models::AdapterConfig{recipe.lora.rank, recipe.lora.alpha, recipe.lora.targets, recipe.model.start},
      recipe.trainer.seed);
}

DataFile weights_of(const std::string& path) {
  DataFile facts{path, 0, {}};
  io::Hash64 hash;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  const models::SafetensorsWeights weights{io::Folder(path)};
  for (const io::Safetensors& part : weights.files()) {
    const io::File file(part.name());
    for (std::uint64_t at = 0; at < file.size(); at += buffer.size()) {
      const auto piece = std::span(buffer).first(
          static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - at)));
      file.read(at, piece);
      hash.update(piece);
    }
    facts.bytes += file.size();
  }
  facts.hash = hash.text();
  return facts;
}

}  // namespace headlight::train
