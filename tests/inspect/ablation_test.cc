// Heads that are changed: against models that really lack them, bit for bit, in every kind of model and run.
#include "inspect/ablation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "inspect/loaded_model.h"
#include "models/generate.h"
#include "support/errors.h"

namespace headlight::inspect {
namespace {

using headlight::testing::expect_error;
using models::Tokens;
using models::Transformer;
using models::TransformerConfig;

constexpr models::Sizes kSizes{.vocabulary = 37, .width = 24, .layers = 2, .heads = 3, .context = 24};

TransformerConfig config_of(const std::string& name) {
  TransformerConfig c = name == "bert"         ? models::bert_config(kSizes)
                        : name == "translator" ? models::translation_config(kSizes)
                        : name == "gpt"        ? models::gpt_config(kSizes)
                                               : models::llama_config(kSizes);
  if (name == "shared keys") models::each_layer(c, [](nn::BlockConfig& b) { b.attention.kv_heads = 1; });
  if (name == "window") c.decoder[0].attention.visible = Visibility::window(3);
  if (name == "parallel")
    models::each_layer(c, [](nn::BlockConfig& b) { b.shape = nn::BlockShape::parallel; });
  c.ends = {1};
  c.decoder_start = c.pad = 0;
  c.initial_range = 0.5;
  return c;
}

Transformer model_of(const std::string& name) {
  Transformer model(config_of(name));
  model.initialize(11);
  return model;
}

nn::MultiHeadAttention& attention_of(Transformer& model, Part part, int layer) {
  auto& block = const_cast<nn::Block&>(model.stack(part).blocks[static_cast<std::size_t>(layer)]);
  return part == Part::cross ? block.cross : block.attention;
}

// The model that lacks a head: nothing of it passes the output projection.
Transformer model_without(const std::string& name, Part part, HeadPlace place) {
  Transformer model = model_of(name);
  nn::MultiHeadAttention& a = attention_of(model, part, place.layer);
  const Index dim = a.config().head_dim;
  const TensorView w = a.out.weight.value.view();
  const bool transposed = a.config().layout == nn::WeightLayout::in_out;
  for (Index i = place.head * dim; i < (place.head + 1) * dim; ++i)
    for (Index o = 0; o < a.config().width; ++o) transposed ? w.set(i, o, 0) : w.set(o, i, 0);
  return model;
}

Tokens tokens(std::initializer_list<std::vector<std::int32_t>> sequences) {
  Tokens t;
  for (const auto& s : sequences) t.append(s);
  return t;
}
const Tokens kTwo = tokens({{5, 9, 30, 2, 8}, {7, 7, 3}});
const Tokens kSource = tokens({{4, 11, 6}, {20, 21, 22, 23}});

Tensor logits(Context& ctx, const Transformer& model, Intervention* change = nullptr) {
  const models::RunOptions options{.intervention = change};
  if (model.config().kind == models::ModelKind::encoder_decoder)
    return model.logits(ctx, kSource, kTwo, options);
  return model.logits(ctx, kTwo, options);
}

::testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape())) return ::testing::AssertionFailure() << "shapes differ";
  const std::size_t bytes = static_cast<std::size_t>(a.shape().elements()) * size_of(a.dtype());
  if (std::memcmp(a.as<std::byte>(), b.as<std::byte>(), bytes) != 0)
    return ::testing::AssertionFailure() << "bits differ";
  return ::testing::AssertionSuccess();
}

std::vector<Part> parts_of(const TransformerConfig& c) {
  if (c.kind == models::ModelKind::encoder_decoder) return {Part::encoder, Part::decoder, Part::cross};
  return {c.kind == models::ModelKind::encoder ? Part::encoder : Part::decoder};
}

class AblationOf : public ::testing::TestWithParam<const char*> {
 protected:
  Context ctx_{{.threads = 2}};
};

TEST_P(AblationOf, AZeroedHeadIsAModelWithoutIt) {
  const Transformer model = model_of(GetParam());
  const Tensor whole = logits(ctx_, model);
  for (const Part part : parts_of(model.config())) {
    for (const HeadPlace place : {HeadPlace{0, 2}, HeadPlace{1, 0}}) {
      Ablation ablation({.part = part, .heads = {place}});
      const Tensor without = logits(ctx_, model, &ablation);
      EXPECT_TRUE(same_bits(without, logits(ctx_, model_without(GetParam(), part, place)))) << name_of(part);
      EXPECT_FALSE(same_bits(without, whole)) << name_of(part);
    }
  }
}

TEST_P(AblationOf, WhatAHeadSaysAnywayChangesNothing) {
  const Transformer model = model_of(GetParam());
  const Tensor whole = logits(ctx_, model);
  Intervention nothing;
  EXPECT_TRUE(same_bits(logits(ctx_, model, &nothing), whole));
  OutputRecorder recorder;
  EXPECT_TRUE(same_bits(logits(ctx_, model, &recorder), whole));
  for (const Part part : parts_of(model.config())) {
    // The recorder keeps the first sequence: it is the longer one of the input, and tokens of the second that it does
    // not have are left alone when the first is patched by itself.
    Ablation patch(
        {.change = Change::patch, .part = part, .heads = all_heads(2, 3), .outputs = &recorder.outputs()});
    Tokens first = tokens({{5, 9, 30, 2, 8}}), source = tokens({{4, 11, 6}});
    const bool both = model.config().kind == models::ModelKind::encoder_decoder;
    const models::RunOptions options{.intervention = &patch};
    const Tensor patched =
        both ? model.logits(ctx_, source, first, options) : model.logits(ctx_, first, options);
    const Tensor alone = both ? model.logits(ctx_, source, first) : model.logits(ctx_, first);
    EXPECT_TRUE(same_bits(patched, alone)) << name_of(part);
    Ablation scale({.change = Change::scale, .part = part, .heads = all_heads(2, 3), .factor = 1});
    EXPECT_TRUE(same_bits(logits(ctx_, model, &scale), whole)) << name_of(part);
  }
}

// Keeps what the modules computed, after the change.
class Witness : public Ablation {
 public:
  using Ablation::Ablation;
  struct Seen {
    Part part;
    int layer;
    Tensor q, k, v, z;
    AttentionOptions options;
    std::vector<Index> q_starts, k_starts;
  };
  void on_heads(const AttentionEvent& event, TensorView z) override {
    Ablation::on_heads(event, z);
    Tensor copy({1, z.dim(1), z.dim(0), z.dim(2)});
    for (Index t = 0; t < z.dim(0); ++t)
      for (Index h = 0; h < z.dim(1); ++h)
        for (Index d = 0; d < z.dim(2); ++d) copy.view().set(0, h, t, d, z.at(t, h, d));
    const auto dense = [](const ConstTensorView& x) {
      Tensor y(x.shape());
      for (Index h = 0; h < x.dim(1); ++h)
        for (Index t = 0; t < x.dim(2); ++t)
          for (Index d = 0; d < x.dim(3); ++d) y.view().set(0, h, t, d, x.at(Index{0}, h, t, d));
      return y;
    };
    const auto list = [](std::span<const Index> x) { return std::vector<Index>(x.begin(), x.end()); };
    seen.push_back({event.part, event.layer, dense(event.q), dense(event.k), dense(event.v), std::move(copy),
                    event.options, list(event.options.q_starts), list(event.options.k_starts)});
  }
  std::vector<Seen> seen;
};

TEST_P(AblationOf, ACutLinkIsAMask) {
  const Transformer model = model_of(GetParam());
  for (const Part part : parts_of(model.config())) {
    const bool cross = part == Part::cross;
    const TokenLink link{{2, 3}, {1, 2}};
    Witness cut({.change = Change::cut_mask, .part = part, .heads = {{1, 1}, {1, 2}}, .links = {link}});
    const Tensor after = logits(ctx_, model, &cut);
    EXPECT_FALSE(same_bits(after, logits(ctx_, model))) << name_of(part);
    for (const Witness::Seen& seen : cut.seen) {
      AttentionOptions options = seen.options;
      options.q_starts = seen.q_starts;
      options.k_starts = seen.k_starts;
      options.mask = {};
      Tensor mask;
      if (seen.part == part && seen.layer == 1) {
        const Index q_len = part == Part::encoder && model.config().kind == models::ModelKind::encoder_decoder
                                ? 4
                                : 5,
                    k_len = cross ? 4 : q_len;
        mask = Tensor({1, 3, q_len, k_len}, DType::boolean);
        std::fill_n(mask.as<std::uint8_t>(), 3 * q_len * k_len, std::uint8_t{1});
        for (const Index head : {1, 2}) mask.as<std::uint8_t>()[(head * q_len + 2) * k_len + 1] = 0;
        options.mask = mask;
      }
      Tensor z(seen.z.shape());
      attention_forward(ctx_, seen.q, seen.k, seen.v, options, z);
      EXPECT_TRUE(same_bits(z, seen.z)) << name_of(seen.part) << " " << seen.layer;
    }
  }
}

TEST_P(AblationOf, AWeightThatIsTakenAwayLeavesTheOthers) {
  const Transformer model = model_of(GetParam());
  const Part part = parts_of(model.config()).back();
  const ChangePlan plan{
      .change = Change::cut_weight, .part = part, .heads = {{0, 1}}, .links = {{{1, 2}, {0, 1}}}};
  Witness cut(plan), plain({.change = Change::scale, .part = part, .heads = {{0, 1}}});
  AttentionRecorder recorder({.part = part, .layer = 0, .head = 1});
  (void)logits(ctx_, model, &cut);
  (void)logits(ctx_, model, &plain);
  const bool both = model.config().kind == models::ModelKind::encoder_decoder;
  if (both) (void)model.logits(ctx_, kSource, kTwo, {.observer = &recorder});
  else (void)model.logits(ctx_, kTwo, {.observer = &recorder});
  const double weight = recorder.weights(part, 0, 1).at(Index{1}, Index{0});
  for (std::size_t i = 0; i < cut.seen.size(); ++i) {
    if (cut.seen[i].part != part || cut.seen[i].layer != 0) continue;
    const Tensor &a = plain.seen[i].z, &b = cut.seen[i].z, &v = cut.seen[i].v;
    const Index kv = 1 / (3 / v.dim(1));
    for (Index d = 0; d < a.dim(3); ++d) {
      EXPECT_NEAR(b.at(Index{0}, Index{1}, Index{1}, d),
                  a.at(Index{0}, Index{1}, Index{1}, d) - weight * v.at(Index{0}, kv, Index{0}, d), 1e-6);
      EXPECT_EQ(b.at(Index{0}, Index{1}, Index{2}, d), a.at(Index{0}, Index{1}, Index{2}, d));
      EXPECT_EQ(b.at(Index{0}, Index{0}, Index{1}, d), a.at(Index{0}, Index{0}, Index{1}, d));
    }
  }
}

TEST_P(AblationOf, OnlyWhereItWasAsked) {
  const Transformer model = model_of(GetParam());
  const Part part = parts_of(model.config()).front();
  Witness some({.part = part, .heads = {{0, 0}}, .queries = {{1, 2}, {3, 4}}});
  (void)logits(ctx_, model, &some);
  const Witness::Seen& seen = some.seen.front();
  for (std::size_t s = 0; s + 1 < seen.q_starts.size(); ++s)
    for (Index t = seen.q_starts[s]; t < seen.q_starts[s + 1]; ++t) {
      const Index position = t - seen.q_starts[s];
      EXPECT_EQ(seen.z.at(Index{0}, Index{0}, t, Index{0}) == 0, position == 1 || position == 3) << t;
    }
}

INSTANTIATE_TEST_SUITE_P(Models, AblationOf,
                         ::testing::Values("gpt", "llama", "shared keys", "window", "parallel", "bert",
                                           "translator"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

class AblationWriting : public ::testing::Test {
 protected:
  Context ctx_{{.threads = 2}};
};

TEST_F(AblationWriting, TokenByTokenWithACache) {
  for (const char* name : {"gpt", "llama", "shared keys", "window"}) {
    const Transformer model = model_of(name), without = model_without(name, Part::decoder, {1, 2});
    Ablation ablation({.part = Part::decoder, .heads = {{1, 2}}});
    const auto a = models::continue_prompts(ctx_, model, kTwo,
                                            {.most = 8, .stop_at_eos = false, .intervention = &ablation});
    const auto b = models::continue_prompts(ctx_, without, kTwo, {.most = 8, .stop_at_eos = false});
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(a[i].tokens, b[i].tokens) << name;
      EXPECT_EQ(a[i].log_probabilities, b[i].log_probabilities) << name;
    }
  }
}

TEST_F(AblationWriting, Beams) {
  const Transformer model = model_of("translator");
  for (const Part part : {Part::encoder, Part::decoder, Part::cross}) {
    const Transformer without = model_without("translator", part, {0, 1});
    Ablation ablation({.part = part, .heads = {{0, 1}}});
    const auto a =
        models::beam_search(ctx_, model, kSource, {.beams = 3, .most = 9}, {.intervention = &ablation});
    const auto b = models::beam_search(ctx_, without, kSource, {.beams = 3, .most = 9});
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(a[i][0].tokens, b[i][0].tokens) << name_of(part);
      EXPECT_EQ(a[i][0].score, b[i][0].score) << name_of(part);
    }
  }
}

// The same tokens at once, and one after the other: places are counted through.
TEST_F(AblationWriting, PlacesAreThoseOfTheWholeText) {
  const std::vector<std::int32_t> ids = {5, 9, 30, 2, 8, 17, 3};
  for (const char* name : {"gpt", "shared keys", "translator"}) {
    const Transformer model = model_of(name);
    const bool both = model.config().kind == models::ModelKind::encoder_decoder;
    const Tokens source = tokens({{4, 11, 6}}), whole = tokens({ids});
    std::vector<Part> parts = {Part::decoder};
    if (both) parts.push_back(Part::cross);
    for (const Part part : parts) {
      for (const Change change : {Change::zero, Change::cut_mask, Change::cut_weight}) {
        Ablation ablation({.change = change,
                           .part = part,
                           .heads = {{0, 1}, {1, 2}},
                           .queries = {{5, 6}},
                           .links = {{{5, 6}, {1, 3}}}});
        const models::RunOptions options{.intervention = &ablation};
        const Tensor at_once =
            both ? model.logits(ctx_, source, whole, options) : model.logits(ctx_, whole, options);
        models::Decoding decoding = both ? model.start(ctx_, source, options) : model.start(ctx_, 1);
        for (std::size_t t = 0; t < ids.size(); ++t) {
          const Tensor next = model.next(ctx_, decoding, tokens({{ids[t]}}), options);
          for (Index v = 0; v < next.dim(1); ++v)
            ASSERT_NEAR(next.at(Index{0}, v), at_once.at(static_cast<Index>(t), v), 2e-4)
                << name << " " << name_of(change) << " " << name_of(part) << " token " << t;
        }
      }
    }
  }
}

TEST_F(AblationWriting, LossesAreTheSameWay) {
  const Transformer model = model_of("gpt"), without = model_without("gpt", Part::decoder, {0, 0});
  models::Batch batch{.source = {}, .input = kTwo, .targets = {1, 2, 3, 4, 5, 6, 7, 8}};
  Ablation ablation({.part = Part::decoder, .heads = {{0, 0}}});
  EXPECT_EQ(model.evaluate(ctx_, batch, {.intervention = &ablation}).plain,
            without.evaluate(ctx_, batch).plain);
  EXPECT_EQ(model.evaluate(ctx_, batch, {}).plain, model.evaluate(ctx_, batch).plain);
}

TEST(AblationMeans, AreOverAllTokens) {
  Context ctx({.threads = 1});
  const Transformer model = model_of("gpt");
  OutputMeans means;
  (void)model.logits(ctx, kTwo, {.intervention = &means});
  Witness witness({.change = Change::scale, .part = Part::decoder, .heads = {{0, 0}}});
  (void)model.logits(ctx, kTwo, {.intervention = &witness});
  EXPECT_EQ(means.tokens(Part::decoder), 8);
  const HeadOutputs found = means.means();
  const Tensor& z = witness.seen[1].z;
  double sum = 0;
  for (Index t = 0; t < 8; ++t) sum += z.at(Index{0}, Index{2}, t, Index{5}) / 8;
  EXPECT_NEAR(found.at({Part::decoder, 1}).at(Index{0}, Index{2}, Index{5}), sum, 1e-6);
  Witness mean({.change = Change::mean, .part = Part::decoder, .heads = {{1, 2}}, .outputs = &found});
  (void)model.logits(ctx, kTwo, {.intervention = &mean});
  for (Index t = 0; t < 8; ++t) EXPECT_NEAR(mean.seen[1].z.at(Index{0}, Index{2}, t, Index{5}), sum, 1e-6);
}

TEST(AblationErrors, SayWhatIsMissing) {
  const auto refused = [](ChangePlan plan, const std::string& words) {
    expect_error([&] { Ablation ablation(std::move(plan)); }, ErrorKind::usage, "ablate.plan", words);
  };
  refused({}, "no head was selected");
  refused({.change = Change::mean, .heads = {{0, 0}}}, "mean needs recorded head outputs");
  refused({.change = Change::cut_mask, .heads = {{0, 0}}}, "a cut needs a link");
  HeadOutputs outputs;
  refused({.change = Change::patch, .part = Part::cross, .heads = {{3, 1}}, .outputs = &outputs},
          "no output was recorded for cross head 3.1");
}

TEST(AblationErrors, NoWayBackThroughAChangedRun) {
  Context ctx({.threads = 1});
  nn::MultiHeadAttention attention("layer", {.width = 8, .heads = 2});
  const Tensor x({3, 8}), dy({3, 8});
  Intervention nothing;
  nn::MultiHeadAttention::Saved saved;
  (void)attention.forward(ctx, x, {.intervention = &nothing}, &saved);
  expect_error([&] { (void)attention.backward(ctx, x, {.intervention = &nothing}, saved, dy); },
               ErrorKind::usage, "nn.intervention", "has no gradients");
}

}  // namespace
}  // namespace headlight::inspect
