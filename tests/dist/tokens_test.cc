// Training whose ranks divide the tokens of a batch: the loss and the gradients of one process, but for rounding, and
// dropout drops the same numbers. Each rank computes some tokens, so a wrong position or a token counted twice shows.
#include <cmath>
#include <optional>

#include "core/concat.h"
#include "core/team.h"
#include "dist/ranks.h"
#include "models/transformer.h"

namespace headlight::testing {
namespace {

using models::Transformer;
using models::TransformerConfig;

// Sequences of several lengths, so that ranks meet within one, between two, and where one of one token is.
models::Batch batch_of(const TransformerConfig& config) {
  models::Batch batch;
  for (const int length : {9, 1, 14, 7}) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < length; ++i) ids.push_back((5 * i + length) % 11);
    batch.input.append(ids);
    batch.targets.insert(batch.targets.end(), ids.begin(), ids.end());
  }
  batch.targets[3] = models::kIgnored;
  if (config.embedding.token_types > 0)
    for (Index i = 0; i < batch.input.size(); ++i) batch.type_ids.push_back(static_cast<std::int32_t>(i % 2));
  return batch;
}

struct Pass {
  double loss = 0;
  Index targets = 0;
  std::vector<Tensor> grads;
};

Pass learn(const TransformerConfig& config, bool divided) {
  Transformer model(config);
  model.initialize(3);
  Context alone({.threads = 1}), shared({.executor = team_executor(ranks(), Together::items, 1)});
  Context& ctx = divided ? shared : alone;
  const models::Batch batch = batch_of(model.config());
  std::optional<TokenScope> scope;
  if (divided) scope.emplace(ctx, batch.input.size());
  const models::Loss loss = model.learn(ctx, batch, {.scale = 0.1, .dropout_seed = 5});
  Pass pass{loss.sum, loss.targets, {}};
  for (Parameter* parameter : model.parameters())
    if (parameter->trained) pass.grads.push_back(std::move(parameter->grad));
  return pass;
}

// What all ranks found together.
void add_up(Pass& pass) {
  Tensor sums =
      Tensor::from(std::vector<double>{pass.loss, static_cast<double>(pass.targets)}, {2}, DType::f64);
  ranks().sum(sums);
  pass.loss = sums.at(0);
  pass.targets = static_cast<Index>(sums.at(1));
  for (Tensor& grad : pass.grads) ranks().sum(grad);
}

double largest(const Tensor& x) {
  double most = 0;
  for (Index i = 0; i < x.shape().elements(); ++i)
    most = std::max(most, std::abs(static_cast<double>(x.as<float>()[i])));
  return most;
}

std::string difference(const Pass& found, const Pass& expected) {
  if (found.targets != expected.targets) return concat(found.targets, " targets, not ", expected.targets);
  if (!(std::abs(found.loss - expected.loss) < 1e-5 * std::abs(expected.loss)))
    return concat("a loss of ", found.loss, ", not ", expected.loss);
  for (std::size_t n = 0; n < expected.grads.size(); ++n) {
    const double limit = 2e-5 * std::max(largest(expected.grads[n]), 1e-3);
    for (Index i = 0; i < expected.grads[n].shape().elements(); ++i) {
      const double a = found.grads[n].as<float>()[i], b = expected.grads[n].as<float>()[i];
      if (!(std::abs(a - b) <= limit)) return concat("gradient ", n, "[", i, "] is ", a, ", not ", b);
    }
  }
  return "";
}

void compare(const char* name, const TransformerConfig& config) {
  const Pass expected = learn(config, false);
  Pass found = learn(config, true);
  add_up(found);
  EXPECT_EQ(all_problems(difference(found, expected)), "") << name;
}

constexpr models::Sizes kSizes{.vocabulary = 11, .width = 32, .layers = 2, .heads = 4, .context = 32};

TransformerConfig with_positions(models::PositionKind kind) {
  TransformerConfig config = models::gpt_config(kSizes);
  models::set_positions(config, kind);
  return config;
}

TEST(Tokens, EveryKindOfPosition) {
  using models::PositionKind;
  compare("none", with_positions(PositionKind::none));
  compare("learned", with_positions(PositionKind::learned));
  compare("sinusoidal", with_positions(PositionKind::sinusoidal));
  compare("rope", with_positions(PositionKind::rope));
  compare("alibi", with_positions(PositionKind::alibi));
}

TEST(Tokens, Families) {
  compare("llama", models::llama_config(kSizes));
  compare("bert", models::bert_config(kSizes));
}

TEST(Tokens, Windows) {
  TransformerConfig config = models::llama_config(kSizes);
  models::each_attention(config, [](nn::MultiHeadAttentionConfig& a) { a.visible = Visibility::window(4); });
  compare("window", config);
}

// Two key heads: on three and four ranks not every rank has a head of its own.
TEST(Tokens, GroupedHeads) {
  TransformerConfig config = models::llama_config(kSizes);
  models::each_attention(config, [](nn::MultiHeadAttentionConfig& a) { a.kv_heads = 2; });
  compare("grouped", config);
}

TEST(Tokens, DropoutDropsTheSameNumbers) {
  TransformerConfig config = models::llama_config(kSizes);
  models::each_layer(config, [](nn::BlockConfig& block) { block.dropout = 0.3; });
  models::each_attention(config, [](nn::MultiHeadAttentionConfig& a) { a.dropout = 0.3; });
  config.dropout = 0.3;
  compare("dropout", config);
}

TEST(Tokens, ModelsThatNeedWholeSequencesSayWhy) {
  const Transformer model(models::translation_config(kSizes));
  EXPECT_EQ(model.why_not_by_tokens(), "it has an encoder and a decoder");
  TransformerConfig slopes = models::gpt_config(kSizes);
  slopes.key_slopes = true;
  EXPECT_EQ(Transformer(slopes).why_not_by_tokens(), "its positions are a bias of whole sequences");
}

}  // namespace
}  // namespace headlight::testing
