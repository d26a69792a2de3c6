// Recurrent models: every gradient against central differences, the same bits anywhere, config, refusals.
#include "models/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/generate.h"
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

// Of several kinds: one sentence is done before the others, and lengths differ.
class RecurrentTranslation : public ::testing::TestWithParam<Row> {
 protected:
  RecurrentTranslation()
      : model_([] {
          RecurrentModelConfig c = GetParam().config;
          c.dtype = DType::f32;
          c.eos = 0, c.decoder_start = 1;
          return c;
        }()) {
    fill(model_.parameters(), 8, 1.5);
    source_ = batch_for(model_.config()).source;
  }
  [[nodiscard]] std::vector<std::int32_t> greedy(const std::vector<std::int32_t>& sentence,
                                                 std::size_t most) {
    Tokens source;
    source.append(sentence);
    std::vector<std::int32_t> written = {model_.config().decoder_start};
    while (written.size() <= most) {
      Tokens input;
      input.append(written);
      const Tensor logits = model_.logits(ctx_, source, input);
      const float* row = logits.as<float>() + (logits.dim(0) - 1) * logits.dim(1);
      const auto best = static_cast<std::int32_t>(std::max_element(row, row + logits.dim(1)) - row);
      if (best == model_.config().eos) break;
      written.push_back(best);
    }
    return {written.begin() + 1, written.end()};
  }
  // The score of a translation by the whole model at once.
  [[nodiscard]] double score(const Tokens& source, const std::vector<std::int32_t>& tokens, bool ended) {
    Batch batch;
    batch.source = source;
    std::vector<std::int32_t> input = tokens;
    input.insert(input.begin(), model_.config().decoder_start);
    batch.targets = tokens;
    if (ended) batch.targets.push_back(model_.config().eos);
    else input.pop_back();
    batch.input.append(input);
    return -model_.evaluate(ctx_, batch).plain / static_cast<double>(batch.targets.size());
  }
  RecurrentModel model_;
  Tokens source_;
  Context ctx_{{.threads = 2}};
};

TEST_P(RecurrentTranslation, OneBeamIsGreedy) {
  RecurrentWriter writer(model_);
  const auto found = beam_search(ctx_, writer, source_, {.beams = 1, .most = 6});
  for (std::size_t s = 0; s < found.size(); ++s) {
    const std::vector<std::int32_t> sentence(source_.ids.begin() + source_.starts[s],
                                             source_.ids.begin() + source_.starts[s + 1]);
    EXPECT_EQ(found[s].at(0).tokens, greedy(sentence, 6)) << s;
  }
}

TEST_P(RecurrentTranslation, BeamsOfEachSentenceAreItsOwn) {
  RecurrentWriter writer(model_);
  const std::vector<Index> most = {3, 9, 6};
  const BeamOptions options{.beams = 4, .most_each = most};
  const auto together = beam_search(ctx_, writer, source_, options);
  for (std::size_t s = 0; s < together.size(); ++s) {
    Tokens alone;
    alone.append(std::span(source_.ids)
                     .subspan(static_cast<std::size_t>(source_.starts[s]),
                              static_cast<std::size_t>(source_.starts[s + 1] - source_.starts[s])));
    const auto found = beam_search(ctx_, writer, alone, {.beams = 4, .most = most[s]}).at(0);
    ASSERT_EQ(found.size(), together[s].size());
    for (std::size_t n = 0; n < found.size(); ++n) {
      EXPECT_EQ(found[n].tokens, together[s][n].tokens) << s << " " << n;
      EXPECT_EQ(found[n].score, together[s][n].score) << s << " " << n;
      const bool ended = static_cast<Index>(found[n].tokens.size()) < most[s];
      if (!ended && std::abs(found[n].score - score(alone, found[n].tokens, false)) < 1e-4) continue;
      EXPECT_NEAR(found[n].score, score(alone, found[n].tokens, true), 1e-4) << s << " " << n;
    }
  }
}

std::vector<Row> translators() {
  std::vector<Row> list = rows();
  std::erase_if(list, [](const Row& row) { return !row.config.encoder_decoder || row.config.dropout > 0; });
  return list;
}
INSTANTIATE_TEST_SUITE_P(All, RecurrentTranslation, ::testing::ValuesIn(translators()),
                         [](const auto& row) { return row.param.name; });

TEST(Recurrent, RefusesWhatMakesNoSense) {
  const RecurrentModel language({.vocabulary = 3, .width = 4});
  expect_error([&] { RecurrentWriter writer(language); }, ErrorKind::usage, "model.recurrent", "no encoder");
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
