// Self-attention as a module, the way the tutorials write it: layers for queries, keys and values with their biases, and
// the weights on request. Two sentences of ten tokens, each token a vector of 64 numbers.
#include <cstdio>
#include <random>
#include <vector>

#include "headlight/nn.h"

using headlight::Index;

int main() {
  constexpr Index kSentences = 2, kTokens = 10, kWidth = 64;
  headlight::nn::SelfAttention attention(kWidth, kWidth, true);

  // The usual initial parameters: uniform in ±1/√inputs. Training would start from them.
  std::mt19937 random(123);
  std::uniform_real_distribution<double> start(-1.0 / 8, 1.0 / 8);
  headlight::Parameters parameters;
  attention.collect(parameters);
  for (headlight::Parameter* parameter : parameters) {
    auto* numbers = parameter->value.as<float>();
    for (Index i = 0; i < parameter->value.shape().elements(); ++i)
      numbers[i] = static_cast<float>(start(random));
  }

  headlight::Tensor x({kSentences, kTokens, kWidth});
  std::normal_distribution<double> word;
  for (Index i = 0; i < x.shape().elements(); ++i) x.as<float>()[i] = static_cast<float>(word(random));

  // Sentences do not attend to each other: each is a separate call.
  std::vector<headlight::Tensor> outputs, weights;
  headlight::Context& ctx = headlight::default_context();
  for (Index s = 0; s < kSentences; ++s) {
    const headlight::ConstTensorView sentence(x.as<float>() + s * kTokens * kWidth, {kTokens, kWidth});
    outputs.push_back(attention.forward(ctx, sentence, nullptr, &weights.emplace_back()));
  }

  // The shapes that the module returned, not the requested ones.
  const auto print_shape = [](const char* name, const std::vector<headlight::Tensor>& list) {
    std::printf("%s (%d, %d, %d)\n", name, static_cast<int>(list.size()), static_cast<int>(list[1].dim(0)),
                static_cast<int>(list[1].dim(1)));
  };
  print_shape("output ", outputs);
  print_shape("weights", weights);
  double sum = 0;
  for (Index j = 0; j < kTokens; ++j) sum += weights[1].at(3, j);
  std::printf("a row of weights sums to %.4f\n", sum);
}
