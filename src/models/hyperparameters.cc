#include "models/hyperparameters.h"

#include <fmt/format.h>

namespace headlight::models {
namespace {

struct ActivationName {
  std::string_view hub;
  nn::Activation activation;
};
// An activation is written under its first name.
constexpr ActivationName kActivations[] = {
    {"relu", nn::Activation::relu},           {"gelu", nn::Activation::gelu},
    {"gelu_new", nn::Activation::gelu_tanh},  {"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
    {"gelu_fast", nn::Activation::gelu_tanh}, {"silu", nn::Activation::silu},
    {"swish", nn::Activation::silu},          {"tanh", nn::Activation::tanh},
    {"sigmoid", nn::Activation::sigmoid},     {"relu2", nn::Activation::relu_squared}};

}  // namespace

std::string_view hub_name(nn::Activation activation) {
  for (const auto& [hub, known] : kActivations)
    if (known == activation) return hub;
  return "?";
}

std::int32_t Hyperparameters::token(Key key) const {
  const std::vector<std::int32_t> all = tokens(key);
  return all.empty() ? -1 : all.front();
}

Index Hyperparameters::layer_count(Key key) const {
  const Index layers = count(key);
  if (layers < 1 || layers > 10000) refuse(key, fmt::format("a model of {} layers", layers));
  return layers;
}

nn::Activation Hyperparameters::activation(nn::Activation otherwise) const {
  if (gguf()) return otherwise;  // each architecture has its own default, and no key for it
  const std::string name = text(Key::activation);
  for (const auto& [hub, activation] : kActivations)
    if (hub == name) return activation;
  refuse(
      Key::activation,
      "not supported; supported are relu, relu2, gelu, gelu_new, gelu_pytorch_tanh, silu, tanh and sigmoid");
}

void Hyperparameters::expect(Key key, bool value, const char* why) const {
  if (flag_or(key, value) != value) refuse(key, why);
}

}  // namespace headlight::models
