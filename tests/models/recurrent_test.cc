// Recurrent models: every gradient against central differences, the same bits anywhere, config, refusals.
#include "models/recurrent.h"

#include <gtest/gtest.h>

#include "support/central_difference.h"
#include "support/errors.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::fill;

struct Row {
  std::string name;
  RecurrentModelConfig config;
  LearnOptions options = {.scale = 1};
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::vector<Row> rows() {
  std::vector<Row> list;
  const RecurrentModelConfig base{.vocabulary = 7, .width = 5, .layers = 2, .dtype = DType::f64};
  for (const nn::CellKind cell : {nn::CellKind::gru, nn::CellKind::lstm}) {
    const std::string name = cell == nn::CellKind::gru ? "gru" : "lstm";
    RecurrentModelConfig c = base;
    c.cell = cell;
    list.push_back({name + "_language", c});
    c.encoder_decoder = true;
    list.push_back({name + "_translation", c});
    c.attention = true;
    list.push_back({name + "_translation_attention", c});
    c.dropout = 0.3, c.tied = false;
    list.push_back({name + "_dropout", c, {.scale = 0.5, .label_smoothing = 0.1, .dropout_seed = 4}});
  }
  return list;
}

Batch batch_for(const RecurrentModelConfig& c) {
  Batch batch;
  batch.input.append(std::vector<std::int32_t>{5, 1, 6});
  batch.input.append(std::vector<std::int32_t>{1, 2, 3, 4, 2});
  batch.input.append(std::vector<std::int32_t>{3});
  batch.targets = {2, 3, kIgnored, 2, 6, 1, 6, 0, 4};
  if (c.encoder_decoder) {
    batch.source.append(std::vector<std::int32_t>{3, 1});
    batch.source.append(std::vector<std::int32_t>{2, 6, 5, 3});
    batch.source.append(std::vector<std::int32_t>{6});
  }
  return batch;
}

class RecurrentGradients : public ::testing::TestWithParam<Row> {};

TEST_P(RecurrentGradients, MatchDifferences) {
  RecurrentModel model(GetParam().config);
  const Parameters parameters = model.parameters();
  fill(parameters, 21, 0.5);
  Context ctx({.threads = 1});
  const Batch batch = batch_for(model.config());
  (void)model.learn(ctx, batch, GetParam().options);
  std::vector<Tensor> grads;
  for (Parameter* p : parameters) grads.push_back(std::move(p->grad));
  const auto loss = [&] {
    for (Parameter* p : parameters) p->grad = {};
    return model.learn(ctx, batch, GetParam().options).sum * GetParam().options.scale;
  };
  headlight::testing::Difference worst;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    headlight::testing::compare_differences(parameters[i]->name, parameters[i]->value, grads[i], loss, worst);
  EXPECT_LT(worst.worst, 1e-7) << worst.where;
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentGradients, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

TEST(Recurrent, SameBitsForAnyThreadsAndNeighbours) {
  RecurrentModelConfig c{
      .cell = nn::CellKind::lstm, .encoder_decoder = true, .attention = true, .vocabulary = 50, .width = 48};
  std::vector<std::vector<float>> seen;
  for (const int threads : {1, 2, 3}) {
    RecurrentModel model(c);
    model.initialize(5);
    Context ctx({.threads = threads});
    (void)model.learn(ctx, batch_for(c), {.scale = 0.1});
    std::vector<float> bits;
    for (Parameter* p : model.parameters())
      bits.insert(bits.end(), p->grad.as<float>(), p->grad.as<float>() + p->grad.shape().elements());
    seen.push_back(bits);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);

  RecurrentModel model(c);
  model.initialize(5);
  Context ctx({.threads = 2});
  const Batch all = batch_for(c);
  const Tensor together = model.logits(ctx, all.source, all.input);
  Tokens source, input;
  source.append(std::vector<std::int32_t>{2, 6, 5, 3});
  input.append(std::vector<std::int32_t>{1, 2, 3, 4, 2});
  const Tensor alone = model.logits(ctx, source, input);
  for (Index t = 0; t < 5; ++t)
    for (Index v = 0; v < 50; ++v) EXPECT_EQ(alone.at(t, v), together.at(t + 3, v));
}

TEST(Recurrent, ConfigIsWrittenAndRead) {
  const RecurrentModelConfig c{.cell = nn::CellKind::lstm,
                               .encoder_decoder = true,
                               .attention = true,
                               .vocabulary = 9,
                               .width = 4,
                               .layers = 3,
                               .tied = false,
                               .dropout = 0.25,
                               .eos = 2,
                               .decoder_start = 1};
  EXPECT_EQ(read_recurrent_config(io::Json::parse(RecurrentModel(c).config_json(), "config.json")), c);
}

TEST(Recurrent, RefusesWhatMakesNoSense) {
  expect_error([] { RecurrentModel({.attention = true, .vocabulary = 3, .width = 4}); }, ErrorKind::usage,
               "model.recurrent", "attention needs an encoder");
  expect_error([] { RecurrentModel({.vocabulary = 3}); }, ErrorKind::usage, "model.recurrent", "width 0");
  RecurrentModel model({.vocabulary = 9, .width = 4});
  Batch batch = batch_for(model.config());
  batch.targets.pop_back();
  Context ctx({.threads = 1});
  expect_error([&] { (void)model.evaluate(ctx, batch); }, ErrorKind::usage, "model.recurrent",
               "8 targets for 9 tokens");
}

}  // namespace
}  // namespace headlight::models
