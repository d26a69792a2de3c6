// What every transformer keeps to: the same bits for any threads and neighbours, caches that agree with
// whole runs, no memory asked of the system in the steady state, counts, refusals.
#include "models/transformer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/families.h"
#include "models/generate.h"
#include "support/central_difference.h"
#include "support/errors.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::Random;

struct Row {
  std::string name;
  TransformerConfig config;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::vector<Row> rows() {
  const Sizes sizes{.vocabulary = 61, .width = 48, .layers = 2, .heads = 3, .context = 80};
  TransformerConfig dropped = gpt_config(sizes), windowed = llama_config(sizes),
                    relative = translation_config(sizes);
  dropped.dropout = 0.2;
  each_layer(dropped, [](nn::BlockConfig& b) { b.dropout = b.attention.dropout = 0.2; });
  each_layer(windowed, [](nn::BlockConfig& b) { b.attention.kv_heads = 1, b.attention.head_norm = b.norm; });
  windowed.decoder[0].attention.visible = Visibility::window(4);
  set_positions(relative, PositionKind::none);
  relative.relative = RelativePositions{};
  relative.final_norm = nn::NormConfig{.kind = nn::NormKind::rms};
  each_layer(relative, [](nn::BlockConfig& b) {
    b.norm_place = nn::NormPlace::before, b.norm = {.kind = nn::NormKind::rms}, b.feed_forward.bias = false;
  });
  each_attention(relative, [](nn::MultiHeadAttentionConfig& a) { a.qkv_bias = a.out_bias = false; });
  relative.head.fixed_bias = false, relative.head.scale = 0.5;
  return {{"gpt", gpt_config(sizes)},     {"gpt_dropout", dropped},
          {"llama", llama_config(sizes)}, {"windowed", windowed},
          {"bert", bert_config(sizes)},   {"translation", translation_config(sizes)},
          {"relative", relative}};
}

// Sequences of these lengths, some of them longer than a tile of keys.
Tokens random_tokens(const std::vector<Index>& lengths, std::uint64_t seed) {
  Random random(seed);
  Tokens tokens;
  for (const Index n : lengths) {
    std::vector<std::int32_t> row;
    for (Index i = 0; i < n; ++i) row.push_back(static_cast<std::int32_t>(random.below(61)));
    tokens.append(row);
  }
  return tokens;
}

Batch random_batch(const TransformerConfig& c) {
  Batch batch;
  batch.input = random_tokens({5, 70, 1, 33}, 1);
  if (c.kind == ModelKind::encoder_decoder) batch.source = random_tokens({9, 40, 3, 66}, 2);
  batch.targets = random_tokens({109}, 3).ids;
  batch.targets[4] = kIgnored;
  return batch;
}

Tensor logits_of(Context& ctx, const Transformer& model, const Tokens& source, const Tokens& input) {
  return model.config().kind == ModelKind::encoder_decoder ? model.logits(ctx, source, input)
                                                           : model.logits(ctx, input);
}

Tokens one(const Tokens& all, std::size_t s) {
  Tokens tokens;
  if (all.sequences() == 0) return tokens;
  tokens.append(std::span(all.ids).subspan(static_cast<std::size_t>(all.starts[s]),
                                           static_cast<std::size_t>(all.starts[s + 1] - all.starts[s])));
  return tokens;
}

class Transformers : public ::testing::TestWithParam<Row> {};

TEST_P(Transformers, GradientsHaveTheSameBitsForAnyThreads) {
  std::vector<std::vector<float>> seen;
  std::vector<double> losses;
  for (const int threads : {1, 2, 3}) {
    Transformer model(GetParam().config);
    model.initialize(7);
    Context ctx({.threads = threads});
    const Loss loss = model.learn(ctx, random_batch(model.config()),
                                  {.scale = 0.01, .label_smoothing = 0.1, .dropout_seed = 5});
    losses.push_back(loss.sum);
    std::vector<float> bits;
    for (Parameter* p : model.parameters())
      if (p->trained)
        bits.insert(bits.end(), p->grad.as<float>(), p->grad.as<float>() + p->grad.shape().elements());
    seen.push_back(bits);
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
  EXPECT_TRUE(seen[0] == seen[1]);
  EXPECT_TRUE(seen[0] == seen[2]);
}

TEST_P(Transformers, ASequenceAloneHasTheBitsItHasInABatch) {
  Transformer model(GetParam().config);
  model.initialize(8);
  Context ctx({.threads = 2}), other({.threads = 3});
  const Batch batch = random_batch(model.config());
  const Tensor together = logits_of(ctx, model, batch.source, batch.input);
  for (std::size_t s = 0; s < 4; ++s) {
    const Tensor alone = logits_of(other, model, one(batch.source, s), one(batch.input, s));
    const float* from = together.as<float>() + batch.input.starts[s] * 61;
    EXPECT_TRUE(std::equal(alone.as<float>(), alone.as<float>() + alone.shape().elements(), from)) << s;
  }
}

TEST_P(Transformers, LogitsOfAFewRowsHaveTheBitsOfAllRows) {
  Transformer model(GetParam().config);
  model.initialize(5);
  Context ctx;
  const Batch batch = random_batch(model.config());
  const bool both = model.config().kind == ModelKind::encoder_decoder;
  const Tensor all = both ? model.logits(ctx, batch.source, batch.input) : model.logits(ctx, batch.input);
  const Tensor hidden =
      both ? model.hidden_states(ctx, batch.source, batch.input) : model.hidden_states(ctx, batch.input);
  ASSERT_EQ(hidden.shape(), (Shape{batch.input.size(), model.config().width}));
  for (const Index row : {Index{0}, Index{7}, batch.input.size() - 1}) {
    const ConstTensorView one(hidden.as<float>() + row * hidden.dim(1), {1, hidden.dim(1)});
    const Tensor logits = model.logits_of(ctx, one);
    for (Index v = 0; v < all.dim(1); ++v) ASSERT_EQ(logits.at(0, v), all.at(row, v)) << row;
  }
}

TEST_P(Transformers, TokenByTokenAgreesWithTheWhole) {
  Transformer model(GetParam().config);
  if (model.config().kind == ModelKind::encoder) return;  // an encoder sees everything at once
  model.initialize(9);
  Context ctx({.threads = 2});
  const bool both = model.config().kind == ModelKind::encoder_decoder;
  const Tokens source = random_tokens({9, 40}, 2), input = random_tokens({6, 12}, 3);
  const Tensor whole = logits_of(ctx, model, source, input);
  Decoding decoding = both ? model.start(ctx, source) : model.start(ctx, 2);
  // First all but the last three tokens of each, then one at a time.
  for (int step = 0; step < 4; ++step) {
    Tokens next;
    for (std::size_t s = 0; s < 2; ++s) {
      const Index end = input.starts[s + 1] - 3 + step, first = step == 0 ? input.starts[s] : end - 1;
      next.append(std::span(input.ids).subspan(static_cast<std::size_t>(first),
                                               static_cast<std::size_t>(end - first)));
    }
    const Tensor found = model.next(ctx, decoding, next);
    for (std::size_t s = 0; s < 2; ++s)
      for (Index v = 0; v < 61; ++v)
        EXPECT_NEAR(found.at(static_cast<Index>(s), v), whole.at(input.starts[s + 1] - 4 + step, v), 2e-5)
            << step;
  }
}

TEST_P(Transformers, StepsAskTheSystemForNoMemory) {
  Transformer model(GetParam().config);
  model.initialize(1);
  Context ctx({.threads = 2});
  const Batch batch = random_batch(model.config());
  const TensorRecycler recycler;
  (void)model.learn(ctx, batch, {.dropout_seed = 1});
  const std::size_t before = TensorRecycler::allocations();
  (void)model.learn(ctx, batch, {.dropout_seed = 2});
  EXPECT_EQ(TensorRecycler::allocations(), before);
}

TEST_P(Transformers, NothingToLearnFromIsNoLoss) {
  Transformer model(GetParam().config);
  model.initialize(1);
  Context ctx({.threads = 1});
  Batch batch = random_batch(model.config());
  batch.targets.assign(batch.targets.size(), kIgnored);
  const Loss loss = model.learn(ctx, batch, {});
  EXPECT_EQ(loss.targets, 0);
  EXPECT_EQ(loss.sum, 0);
  for (Parameter* p : model.parameters())
    for (Index i = 0; p->trained && i < p->grad.shape().elements(); ++i)
      ASSERT_EQ(p->grad.as<float>()[i], 0) << p->name;
}

TEST_P(Transformers, LearningLowersTheLoss) {
  Transformer model(GetParam().config);
  model.initialize(3);
  Context ctx({.threads = 2});
  const Batch batch = random_batch(model.config());
  const double before = model.evaluate(ctx, batch).mean();
  for (int step = 0; step < 8; ++step) {
    for (Parameter* p : model.parameters()) p->grad = {};
    (void)model.learn(ctx, batch, {.scale = 1.0 / 108, .dropout_seed = static_cast<std::uint64_t>(step)});
    for (Parameter* p : model.parameters())
      for (Index i = 0; p->trained && i < p->value.shape().elements(); ++i)
        p->value.as<float>()[i] -= 0.3f * p->grad.as<float>()[i];
  }
  EXPECT_LT(model.evaluate(ctx, batch).mean(), before - 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, Transformers, ::testing::ValuesIn(rows()),
                         [](const auto& r) { return r.param.name; });

TEST(Transformer, FlopsAreThoseOfTheRule) {
  const Transformer model(
      gpt_config({.vocabulary = 100, .width = 16, .layers = 3, .heads = 2, .context = 32}));
  Batch batch;
  batch.input = random_tokens({10, 20}, 1);
  for (std::int32_t& id : batch.input.ids) id %= 100;
  batch.targets.assign(30, 1);
  const double parameters = 3 * 12 * 16 * 16 + 100 * 16;
  const double attention = 3 * 3.5 * 4 * (10 * 10 + 20 * 20) / 2 * 16;
  EXPECT_DOUBLE_EQ(model.flops(batch), 6 * 30 * parameters + attention);
}

TEST(Transformer, BeginsFromItsSeedAlone) {
  const TransformerConfig config =
      gpt_config({.vocabulary = 500, .width = 64, .layers = 2, .heads = 2, .context = 32});
  Transformer a(config), b(config);
  a.initialize(1);
  b.initialize(2);
  b.initialize(1);
  const Parameters left = a.parameters(), right = b.parameters();
  for (std::size_t p = 0; p < left.size(); ++p)
    for (Index i = 0; i < left[p]->value.shape().elements(); ++i)
      ASSERT_EQ(left[p]->value.as<float>()[i], right[p]->value.as<float>()[i]) << left[p]->name;
  double square = 0;
  for (Index i = 0; i < 500 * 64; ++i) square += std::pow(left[0]->value.as<float>()[i], 2) / (500 * 64);
  EXPECT_NEAR(std::sqrt(square), 0.02, 0.0005);
}

TEST(Transformer, Refuses) {
  Context ctx({.threads = 1});
  const Sizes sizes{.vocabulary = 61, .width = 48, .layers = 1, .heads = 3, .context = 8};
  const Transformer model(gpt_config(sizes));
  expect_error([&] { (void)model.logits(ctx, random_tokens({9}, 1)); }, ErrorKind::input, "model.context",
               "has positions for 8");
  Tokens unknown;
  unknown.append(std::vector<std::int32_t>{61});
  expect_error([&] { (void)model.logits(ctx, unknown); }, ErrorKind::input, "nn.token", "number 61");
  expect_error([&] { (void)model.logits(ctx, unknown, unknown); }, ErrorKind::usage, "model.call",
               "only an encoder-decoder");
  expect_error([&] { (void)model.encode(ctx, unknown); }, ErrorKind::usage, "model.call", "has no encoder");
  expect_error(
      [&] { (void)gpt_config({.vocabulary = 5, .width = 10, .layers = 1, .heads = 3, .context = 4}); },
      ErrorKind::usage, "model.config", "a width of 10 is not a multiple of 3 heads");
  expect_error(
      [&] { (void)gpt_config({.vocabulary = 0, .width = 9, .layers = 1, .heads = 3, .context = 4}); },
      ErrorKind::usage, "model.config", "vocabulary is 0");
  expect_error([] { (void)preset("transformer-huge", 100, 10); }, ErrorKind::usage, "model.config",
               "transformer-base");
  Batch batch;
  batch.input = random_tokens({4}, 1);
  Transformer learner(gpt_config(sizes));
  expect_error([&] { (void)learner.learn(ctx, batch, {}); }, ErrorKind::usage, "model.call",
               "0 targets for 4 tokens");
}

TEST(Transformer, PresetOf2017) {
  const TransformerConfig c = preset("transformer-base", 8000, 256);
  EXPECT_EQ(c.width, 512);
  EXPECT_EQ(c.decoder[0].attention.heads, 8);
  EXPECT_EQ(c.decoder[0].attention.head_dim, 64);
  EXPECT_EQ(c.decoder.size(), 6U);
  EXPECT_EQ(c.encoder.size(), 6U);
  EXPECT_EQ(c.encoder[0].feed_forward.inner, 2048);
  EXPECT_EQ(c.kind, ModelKind::encoder_decoder);
}

// Weights of the last query, as a whole run and as the last of many steps shows them.
class LastRow : public Observer {
 public:
  void on_attention(const AttentionEvent& event) override {
    const Index n = event.queries(0);
    for (Index h = 0; h < event.q.dim(1); ++h) {
      const Tensor row = event.weights(0, h, {n - 1, n});
      weights.insert(weights.end(), row.as<float>(), row.as<float>() + row.dim(1));
    }
  }
  std::vector<float> weights;
};

TEST(Transformer, ObserversSeeTheSameThroughACache) {
  Context ctx({.threads = 2});
  Transformer model(llama_config({.vocabulary = 61, .width = 48, .layers = 2, .heads = 3, .context = 80}));
  model.initialize(4);
  const Tokens input = random_tokens({12}, 5);
  LastRow whole, stepwise;
  (void)model.logits(ctx, input, {.observer = &whole});
  Decoding decoding = model.start(ctx, 1);
  Tokens first, last;
  first.append(std::span(input.ids).first(11));
  last.append(std::span(input.ids).last(1));
  (void)model.next(ctx, decoding, first);
  (void)model.next(ctx, decoding, last, {.observer = &stepwise});
  ASSERT_EQ(whole.weights.size(), 2 * 3 * 12U);
  ASSERT_EQ(stepwise.weights.size(), whole.weights.size());
  for (std::size_t i = 0; i < whole.weights.size(); ++i)
    EXPECT_NEAR(stepwise.weights[i], whole.weights[i], 1e-6);
}

TEST(Recorder, KeepsWhatItIsAskedFor) {
  Context ctx({.threads = 2});
  Transformer model(
      translation_config({.vocabulary = 61, .width = 48, .layers = 2, .heads = 3, .context = 80}));
  model.initialize(4);
  const Tokens source = random_tokens({7, 5}, 5), input = random_tokens({4, 6}, 6);
  AttentionRecorder all, some({.part = Part::cross, .layer = 1, .head = 2, .sequence = 1});
  (void)model.logits(ctx, source, input, {.observer = &all});
  (void)model.logits(ctx, source, input, {.observer = &some});
  EXPECT_EQ(all.entries().size(), 3 * 2 * 3U);
  EXPECT_EQ(all.weights(Part::encoder, 0, 1).shape(), Shape({7, 7}));
  ASSERT_EQ(some.entries().size(), 1U);
  const Tensor& weights = some.weights(Part::cross, 1, 2);
  ASSERT_EQ(weights.shape(), Shape({6, 5}));
  for (Index i = 0; i < 6; ++i) {
    double sum = 0;
    for (Index j = 0; j < 5; ++j) sum += weights.at(i, j);
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  expect_error([&] { (void)some.weights(Part::cross, 0, 2); }, ErrorKind::usage, "trace.absent",
               "cross layer 0");
  AttentionRecorder wrong({.head = 3});
  expect_error([&] { (void)model.logits(ctx, source, input, {.observer = &wrong}); }, ErrorKind::usage,
               "trace.head", "head 3 of a layer with 3");
}

TEST(Families, OwnModelsAreWrittenAndReadAgain) {
  const Sizes sizes{.vocabulary = 61, .width = 48, .layers = 2, .heads = 3, .context = 80};
  for (TransformerConfig c :
       {gpt_config(sizes), llama_config(sizes), bert_config(sizes), translation_config(sizes)}) {
    c.dropout = c.family == "llama" ? 0 : 0.1;
    each_layer(c, [&](nn::BlockConfig& b) { b.dropout = c.dropout; });
    each_attention(c, [](nn::MultiHeadAttentionConfig& a) { a.dropout = 0.05; });
    c.pad = 1;
    if (c.family != "bert") c.ends = {2, 5};
    if (c.kind == ModelKind::encoder_decoder) c.decoder_start = 1;
    const Transformer model(c);
    EXPECT_EQ(read_config(io::Json::parse(model.config_json(), "config.json")), model.config()) << c.family;
  }
}

TEST(Families, RefuseWhatTheirFilesCannotSay) {
  TransformerConfig c = gpt_config({.vocabulary = 61, .width = 48, .layers = 2, .heads = 3, .context = 80});
  c.embedding.scale = 2;
  expect_error([&] { (void)Transformer(c).config_json(); }, ErrorKind::usage, "model.family",
               "gpt2: config.json of this family cannot express all options");
  c = gpt_config({.vocabulary = 61, .width = 48, .layers = 2, .heads = 3, .context = 80});
  c.decoder[1].attention.head_norm = c.decoder[1].norm;
  Transformer normed(c);
  expect_error(
      [&] {
        for (const Parameter* p : normed.parameters()) (void)normed.file_name(*p);
      },
      ErrorKind::usage, "model.family",
      "gpt2: files of this family cannot store decoder.1.attention.query_norm.weight");
  expect_error([&] { (void)normed.config_json(); }, ErrorKind::usage, "model.family",
               "gpt2: config.json of this family cannot express all options");
  c.family = "gpt5";
  expect_error([&] { (void)Transformer(c).config_json(); }, ErrorKind::input, "model.family",
               "\"gpt5\" is not supported");
}

TEST(Sampling, GreedySeedsAndLimits) {
  const Tensor logits = Tensor::from(std::vector<double>{0, 2, 1, -1}, {4});
  EXPECT_EQ(choose_token(logits, {}, 0, 0), 1);
  EXPECT_EQ(choose_token(logits, {.temperature = 5, .top_k = 1, .seed = 9}, 0, 0), 1);
  EXPECT_EQ(choose_token(logits, {.temperature = 5, .top_p = 0.01, .seed = 9}, 3, 4), 1);
  std::vector<int> counts(4);
  for (Index place = 0; place < 4000; ++place)
    ++counts[static_cast<std::size_t>(choose_token(logits, {.temperature = 1, .seed = 1}, 0, place))];
  const double sum = 1 + std::exp(2.0) + std::exp(1.0) + std::exp(-1.0);
  for (Index v = 0; v < 4; ++v)
    EXPECT_NEAR(counts[static_cast<std::size_t>(v)] / 4000.0, std::exp(logits.at(v)) / sum, 0.03) << v;
  for (Index place = 0; place < 200; ++place)
    EXPECT_NE(choose_token(logits, {.temperature = 3, .top_k = 3, .seed = 2}, 0, place), 3);
  expect_error([&] { (void)choose_token(logits, {.temperature = -1}, 0, 0); }, ErrorKind::usage,
               "model.sampling", "temperature is -1");
}

TEST(Sampling, StopsAndTells) {
  Context ctx({.threads = 1});
  TransformerConfig c = gpt_config({.vocabulary = 61, .width = 48, .layers = 1, .heads = 3, .context = 8});
  c.ends = {3};
  Transformer model(c);
  model.initialize(2);
  const Tokens prompts = random_tokens({3, 5}, 4);
  // Positions end each text at its ninth token, which is never read.
  const auto all =
      generate(ctx, model, prompts, {.most = 100, .temperature = 1, .seed = 4, .stop_at_eos = false});
  EXPECT_EQ(all[0].size(), 6U);
  EXPECT_EQ(all[1].size(), 4U);
  EXPECT_EQ(generate(ctx, model, prompts, {.most = 100, .temperature = 1, .seed = 4, .stop_at_eos = false}),
            all);
  int told = 0;
  const auto cut =
      generate(ctx, model, prompts, {.most = 4, .stop_at_eos = false, .on_token = [&](const NewToken& token) {
                                       return ++told, token.item == 1;
                                     }});
  EXPECT_EQ(cut[0].size(), 1U);
  EXPECT_EQ(cut[1].size(), 4U);
  EXPECT_EQ(told, 5);
}

// Texts that end leave their places to others, and nobody's text changes.
TEST(Sampling, ManyTextsAreWrittenAsEachAlone) {
  Context ctx({.threads = 2});
  TransformerConfig c = gpt_config({.vocabulary = 61, .width = 48, .layers = 2, .heads = 3, .context = 30});
  c.ends = {7};
  c.initial_range = 0.5;
  Transformer model(c);
  model.initialize(3);
  const std::vector<Index> lengths = {3, 29, 12, 1, 25, 30};
  const Tokens prompts = random_tokens(lengths, 4);
  // Without chance, so that a text's number does not matter.
  const auto together = continue_prompts(ctx, model, prompts, {.most = 20});
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const Continuation alone = continue_prompts(ctx, model, one(prompts, s), {.most = 20})[0];
    EXPECT_EQ(together[s].tokens, alone.tokens) << s;
    EXPECT_EQ(together[s].log_probabilities, alone.log_probabilities) << s;
    EXPECT_EQ(together[s].ending, alone.ending) << s;
    for (const double x : alone.log_probabilities) EXPECT_LE(x, 0);
  }
  EXPECT_EQ(together[5].tokens.size(), 1U);
  EXPECT_EQ(name_of(together[5].ending), "context");
  expect_error([&] { (void)continue_prompts(ctx, model, random_tokens({31}, 4)); }, ErrorKind::input,
               "model.context", "prompt 1 has 31 tokens; the model reads at most 30");
}

}  // namespace
}  // namespace headlight::models
