#include "measure/train_steps.h"

#include "core/concat.h"
#include "headlight/error.h"
#include "headlight/nn.h"
#include "measure/workloads.h"
#include "models/transformer.h"
#include "train/adamw.h"

namespace headlight::measure {
namespace {

// Pseudorandom tokens, the same on every machine.
std::int32_t made_up_token(std::uint64_t number, Index vocabulary) {
  number = (number + 1) * 0x9E3779B97F4A7C15U;
  return static_cast<std::int32_t>((number >> 33) % static_cast<std::uint64_t>(vocabulary));
}

void append_sequence(models::Tokens& tokens, Index length, Index vocabulary) {
  std::vector<std::int32_t> ids;
  for (Index i = 0; i < length; ++i)
    ids.push_back(made_up_token(static_cast<std::uint64_t>(tokens.size() + i), vocabulary));
  tokens.append(ids);
}

Index count(const Parameters& parameters) {
  Index numbers = 0;
  for (const Parameter* parameter : parameters)
    numbers += parameter->trained ? parameter->value.shape().elements() : 0;
  return numbers;
}

// One training step: a model, a batch and AdamW.
class ModelStep : public TrainStep {
 public:
  ModelStep(const models::TransformerConfig& config, models::Batch batch)
      : model_(config), batch_(std::move(batch)), optimizer_(initialized(model_), {}) {
    for (std::size_t i = 0; i < batch_.input.ids.size(); ++i)
      batch_.targets.push_back(made_up_token(i + 1, config.vocabulary));
  }

  void run(Context& ctx) override {
    const models::Loss loss = model_.learn(
        ctx, batch_, {.scale = 1.0 / static_cast<double>(batch_.targets.size()), .dropout_seed = 0});
    if (!(loss.sum > 0))
      throw Error(ErrorKind::numeric, "bench.loss", "bench: the loss of a training step is not finite");
    optimizer_.step(ctx, 1e-4, 1);
  }
  [[nodiscard]] double flops() const override { return model_.flops(batch_); }
  [[nodiscard]] double tokens() const override {
    return static_cast<double>(batch_.source.size() + batch_.input.size());
  }
  [[nodiscard]] Index parameters() override { return count(model_.parameters()); }

 private:
  static Parameters initialized(models::Transformer& model) {
    model.initialize(1);
    return model.parameters();
  }

  models::Transformer model_;
  models::Batch batch_;
  train::AdamW optimizer_;
};

// One multi-head self-attention layer with projections: width 512, 8 heads, 8 sequences of 256 tokens.
class AttentionLayer : public TrainStep {
 public:
  AttentionLayer()
      : layer_("layer", {.width = kWidth, .heads = 8}), x_({kTokens, kWidth}), dy_({kTokens, kWidth}) {
    fill_normal(x_, 1);
    fill_normal(dy_, 2);
    Parameters parameters;
    layer_.collect(parameters);
    for (Parameter* parameter : parameters) {
      fill_normal(parameter->value, 3);
      for (Index i = 0; i < parameter->value.shape().elements(); ++i)
        parameter->value.as<float>()[i] *= 0.05F;
    }
    for (Index start = 0; start <= kTokens; start += kLength) starts_.push_back(start);
  }

  void run(Context& ctx) override {
    nn::MultiHeadAttention::Saved saved;
    const nn::AttentionCall call{.starts = starts_};
    const Tensor y = layer_.forward(ctx, x_, call, &saved);
    const Tensor dx = layer_.backward(ctx, x_, call, saved, dy_);
  }
  // Four projections, and the two products of attention; backward costs twice and 2.5 times as much.
  [[nodiscard]] double flops() const override {
    const double tokens = kTokens, width = kWidth, length = kLength;
    return 3 * 8 * tokens * width * width + 3.5 * 4 * tokens * length * width;
  }
  [[nodiscard]] double tokens() const override { return kTokens; }
  [[nodiscard]] Index parameters() override {
    Parameters parameters;
    layer_.collect(parameters);
    return count(parameters);
  }

 private:
  static constexpr Index kWidth = 512, kLength = 256, kTokens = 8 * kLength;
  nn::MultiHeadAttention layer_;
  Tensor x_, dy_;
  std::vector<Index> starts_;
};

// Short sentences as in a phrase book: 4 to 15 tokens, the translation a little longer.
std::unique_ptr<TrainStep> translation_step() {
  constexpr Index kVocabulary = 8192, kTokens = 4000;
  models::Batch batch;
  for (Index i = 0; batch.source.size() + batch.input.size() < kTokens; ++i) {
    append_sequence(batch.source, 4 + i * 7 % 12, kVocabulary);
    append_sequence(batch.input, 5 + i * 7 % 12, kVocabulary);
  }
  models::TransformerConfig config = models::translation_config(
      {.vocabulary = kVocabulary, .width = 256, .layers = 6, .heads = 8, .context = 64});
  return std::make_unique<ModelStep>(config, std::move(batch));
}

}  // namespace

std::unique_ptr<TrainStep> make_gpt_step(const models::Sizes& sizes, Index rows) {
  models::Batch batch;
  for (Index i = 0; i < rows; ++i) append_sequence(batch.input, sizes.context, sizes.vocabulary);
  return std::make_unique<ModelStep>(models::gpt_config(sizes), std::move(batch));
}

std::unique_ptr<TrainStep> make_train_step(std::string_view name) {
  if (name == "attention_layer") return std::make_unique<AttentionLayer>();
  if (name == "gpt_step") return make_gpt_step(kGptStep, kGptStepRows);
  if (name == "translation_step") return translation_step();
  throw Error(ErrorKind::usage, "bench.name", concat("bench: unknown training step \"", name, "\""));
}

}  // namespace headlight::measure
