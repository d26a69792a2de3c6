// The residual stream under an intervention: what it writes is what the next block reads, in every kind of run.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "headlight/trace.h"
#include "models/generate.h"
#include "models/transformer.h"

namespace headlight::models {
namespace {

constexpr Sizes kSizes{.vocabulary = 37, .width = 24, .layers = 3, .heads = 3, .context = 24};

Transformer model_of(const TransformerConfig& config) {
  TransformerConfig c = config;
  c.ends = {1};
  c.decoder_start = c.pad = 0;
  c.initial_range = 0.5;
  Transformer model(c);
  model.initialize(11);
  return model;
}

class Recorder : public Observer {
 public:
  void on_residual(const ResidualEvent& event) override {
    Tensor& kept = states[{event.part, event.layer}];
    kept = Tensor::uninitialized(event.x.shape(), event.x.dtype());
    for (Index t = 0; t < kept.dim(0); ++t)
      for (Index d = 0; d < kept.dim(1); ++d) kept.view().set(t, d, event.x.at(t, d));
  }
  std::map<std::pair<Part, int>, Tensor> states;
};

// Replaces the state of one layer by a recorded one.
class Patch : public Intervention {
 public:
  Patch(const Recorder& from, Part part, int layer) : from_(from), part_(part), layer_(layer) {}
  void on_residual(const ResidualEvent& event, TensorView x) override {
    EXPECT_EQ(event.x.as<float>(), x.as<float>());
    if (event.part != part_ || event.layer != layer_) return;
    const Tensor& state = from_.states.at({part_, layer_});
    for (Index t = 0; t < x.dim(0); ++t)
      for (Index d = 0; d < x.dim(1); ++d) x.set(t, d, state.at(t, d));
    ++calls;
  }
  int calls = 0;

 private:
  const Recorder& from_;
  Part part_;
  int layer_;
};

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.as<float>(), b.as<float>(),
                     static_cast<std::size_t>(a.shape().elements()) * sizeof(float)) == 0;
}

Tokens tokens_of(std::vector<std::int32_t> ids) {
  Tokens tokens;
  tokens.append(ids);
  return tokens;
}

TEST(ResidualIntervention, APatchedLayerGivesTheLogitsOfTheOtherText) {
  const Transformer model = model_of(gpt_config(kSizes));
  const Tokens clean = tokens_of({3, 9, 4, 17, 5}), other = tokens_of({8, 2, 30, 6, 11});
  Context ctx({.threads = 2});
  Recorder recorder;
  const Tensor wanted = model.logits(ctx, clean, {.observer = &recorder});
  const Tensor plain = model.logits(ctx, other);
  ASSERT_FALSE(same(wanted, plain));
  for (int layer = 0; layer <= 3; ++layer) {
    Patch patch(recorder, Part::decoder, layer);
    EXPECT_TRUE(same(model.logits(ctx, other, {.intervention = &patch}), wanted)) << layer;
    EXPECT_EQ(patch.calls, 1);
  }
  Recorder own;
  (void)model.logits(ctx, other, {.observer = &own});
  Patch nothing(own, Part::decoder, 1);  // its own state: no bit changes
  EXPECT_TRUE(same(model.logits(ctx, other, {.intervention = &nothing}), plain));
}

TEST(ResidualIntervention, AnObserverSeesTheStateBeforeTheChange) {
  const Transformer model = model_of(llama_config(kSizes));
  const Tokens clean = tokens_of({3, 9, 4}), other = tokens_of({8, 2, 30});
  Context ctx({.threads = 1});
  Recorder of_clean, of_other, seen;
  (void)model.logits(ctx, clean, {.observer = &of_clean});
  (void)model.logits(ctx, other, {.observer = &of_other});
  Patch patch(of_clean, Part::decoder, 1);
  (void)model.logits(ctx, other, {.observer = &seen, .intervention = &patch});
  const std::pair at{Part::decoder, 1}, after{Part::decoder, 2};
  EXPECT_TRUE(same(seen.states.at(at), of_other.states.at(at)));
  EXPECT_TRUE(same(seen.states.at(after), of_clean.states.at(after)));
}

TEST(ResidualIntervention, ReachesTheEncoderOfATranslator) {
  const Transformer model = model_of(translation_config(kSizes));
  const Tokens clean = tokens_of({3, 9, 4, 1}), other = tokens_of({8, 2, 30, 1}),
               target = tokens_of({0, 7, 12});
  Context ctx({.threads = 2});
  Recorder recorder;
  const Tensor wanted = model.logits(ctx, clean, target, {.observer = &recorder});
  Patch patch(recorder, Part::encoder, 2);
  EXPECT_TRUE(same(model.logits(ctx, other, target, {.intervention = &patch}), wanted));
}

// Adds to the stream of every call, as steering does.
class Steer : public Intervention {
 public:
  void on_residual(const ResidualEvent& event, TensorView x) override {
    if (event.layer != 1) return;
    for (Index t = 0; t < x.dim(0); ++t) x.set(t, 0, x.at(t, 0) + 3.0);
  }
};

TEST(ResidualIntervention, DecodingFromACacheIsSteeredLikeTheWholeText) {
  const Transformer model = model_of(llama_config(kSizes));
  Context ctx({.threads = 2});
  Steer steer;
  const Tokens prompt = tokens_of({3, 9, 4});
  SamplingOptions options;
  options.most = 5;
  options.intervention = &steer;
  options.stop_at_eos = false;
  std::vector<std::int32_t> ids = {3, 9, 4};
  const auto written = generate(ctx, model, prompt, options)[0];
  ASSERT_EQ(written.size(), 5U);
  for (const std::int32_t token : written) {
    const Tensor logits = model.logits(ctx, tokens_of(ids), {.intervention = &steer});
    Index best = 0;
    for (Index v = 1; v < logits.dim(1); ++v)
      if (logits.at(logits.dim(0) - 1, v) > logits.at(logits.dim(0) - 1, best)) best = v;
    EXPECT_EQ(token, best);
    ids.push_back(token);
  }
}

}  // namespace
}  // namespace headlight::models
