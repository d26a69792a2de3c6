#include "train/start_weights.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/leftovers.h"
#include "models/load.h"
#include "models/transformer.h"

namespace headlight::train {
namespace {

using models::Transformer;
using models::TransformerConfig;

// The new part of a matrix that has grown on one side: zeros if the product sums over the inner width.
enum class New { stays, becomes_zero };
New what_is_new(const TransformerConfig& config, const Parameter& from, const Parameter& to) {
  if (to.value.rank() == 1) return New::becomes_zero;  // a bias
  const bool more_rows = to.value.dim(0) > from.value.dim(0);
  return more_rows == (config.main().front().feed_forward.layout == nn::WeightLayout::out_in)
             ? New::stays
             : New::becomes_zero;
}

void copy_into(const TransformerConfig& config, const Parameter& from, Parameter& to) {
  const bool matrix = from.value.rank() == 2;
  const Index rows = matrix ? from.value.dim(0) : 1, columns = from.value.dim(from.value.rank() - 1);
  const Index wide = to.value.dim(to.value.rank() - 1);
  float* numbers = to.value.as<float>();
  if (from.shape() != to.shape() && what_is_new(config, from, to) == New::becomes_zero)
    std::fill_n(numbers, to.value.shape().elements(), 0.0F);
  for (Index r = 0; r < rows; ++r)
    std::memcpy(numbers + r * wide, from.value.as<float>() + r * columns,
                sizeof(float) * static_cast<std::size_t>(columns));
}

// Sets the inner width of layers to that of the folder if they are wider; false: none are.
bool narrow_layers(const std::vector<nn::BlockConfig>& before, std::vector<nn::BlockConfig>& layers) {
  bool changed = false;
  for (std::size_t n = 0; n < std::min(before.size(), layers.size()); ++n) {
    const nn::FeedForwardConfig& narrower = before[n].feed_forward;
    nn::FeedForwardConfig& wanted = layers[n].feed_forward;
    if (narrower.inner >= wanted.inner || narrower.gated != wanted.gated) continue;
    wanted.inner = narrower.inner;
    changed = true;
  }
  return changed;
}

void load_all(const models::ModelFiles& files, Transformer& model) {
  for (const std::string& name : models::load_parameters(
           files.weights(),
           models::plan_parameters(files.weights(), model.parameters(), &files.names(model.config())))) {
    if (models::is_known_leftover(model.config(), name)) continue;
    throw Error(ErrorKind::input, "recipe.start",
                concat(escaped(files.path()), ": has a tensor \"", escaped(name, 80),
                       "\", which the model of the recipe lacks\n"
                       "  Sizes and architecture must be the same; only model.inner may be larger."));
  }
}

}  // namespace

Index stored_vocabulary(const std::string& path) {
  const models::ModelFiles files(path);
  return files.is_recurrent() ? 0 : files.describe().config.vocabulary;
}

void take_weights(const std::string& path, models::Trainable& model) {
  auto* transformer = dynamic_cast<Transformer*>(&model);
  if (transformer == nullptr)
    throw Error(ErrorKind::usage, "recipe.model", "model: model.start is for transformers");
  const models::ModelFiles files(path);
  const TransformerConfig before = files.describe().config;
  TransformerConfig config = transformer->config();
  const bool encoders = narrow_layers(before.encoder, config.encoder);
  const bool decoders = narrow_layers(before.decoder, config.decoder);
  if (!encoders && !decoders) return load_all(files, *transformer);
  Transformer narrow(config);
  load_all(files, narrow);
  const Parameters from = narrow.parameters(), to = transformer->parameters();
  for (std::size_t i = 0; i < from.size(); ++i) copy_into(config, *from[i], *to[i]);
}

}  // namespace headlight::train
