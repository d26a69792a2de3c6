#include "train/model_factory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headlight/error.h"
#include "models/recurrent.h"
#include "models/transformer.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "train/start_weights.h"

namespace headlight::train {
namespace {

using testing::expect_error;

Recipe recipe_of(const std::string& model) {
  return read_recipe(Settings::parse("[model]\n" + model + "\n[data]\ntask = \"copy\"\n", "r.toml"));
}

std::unique_ptr<models::Trainable> make(const std::string& model, bool source = false,
                                        std::uint64_t seed = 3) {
  return make_model(recipe_of(model).model,
                    {.vocabulary = 50,
                     .context = 16,
                     .source = source,
                     .special = {.begin = 1, .end = 2, .pad = 0, .mask = {}}},
                    seed);
}

const models::TransformerConfig& config_of(const models::Trainable& model) {
  return dynamic_cast<const models::Transformer&>(model).config();
}

TEST(ModelFactory, EveryKind) {
  const std::string sizes = "\nwidth = 16\nlayers = 2\nheads = 4\n";
  const auto gpt = make("kind = \"decoder\"\ndropout = 0.1\ninner = 40" + sizes);
  EXPECT_EQ(config_of(*gpt).decoder[0].feed_forward.inner, 40);
  EXPECT_EQ(config_of(*gpt).dropout, 0.1);
  EXPECT_EQ(config_of(*gpt).ends, std::vector<std::int32_t>{2});
  EXPECT_EQ(config_of(*make("kind = \"llama\"\nkv_heads = 2" + sizes)).decoder[0].attention.kv_heads, 2);
  EXPECT_EQ(config_of(*make("kind = \"encoder\"" + sizes)).kind, models::ModelKind::encoder);
  const auto translator = make("kind = \"encoder-decoder\"\nencoder_layers = 3" + sizes, true);
  EXPECT_EQ(config_of(*translator).encoder.size(), 3U);
  EXPECT_EQ(config_of(*translator).decoder_start, 1);
  const auto gru = make("kind = \"gru\"\nwidth = 16\nlayers = 1");
  EXPECT_FALSE(dynamic_cast<const models::RecurrentModel&>(*gru).config().encoder_decoder);
  const auto seq2seq = make("kind = \"lstm-seq2seq\"\nwidth = 16\nlayers = 1\nattention = false", true);
  const models::RecurrentModelConfig& lstm = dynamic_cast<const models::RecurrentModel&>(*seq2seq).config();
  EXPECT_EQ(lstm.cell, nn::CellKind::lstm);
  EXPECT_TRUE(lstm.encoder_decoder);
  EXPECT_FALSE(lstm.attention);
}

TEST(ModelFactory, MatricesDecayAndNothingElse) {
  const auto model = make("kind = \"decoder\"\nwidth = 16\nlayers = 1\nheads = 2");
  for (const Parameter* parameter : model->parameters())
    EXPECT_EQ(parameter->decays, parameter->value.rank() == 2) << parameter->name;
}

TEST(ModelFactory, WeightsToBeginWith) {
  const std::string sizes = "width = 16\nheads = 2\nlayers = ";
  const auto first = make("kind = \"llama\"\n" + sizes + "1", false, 3);
  const testing::TempFolder folder;
  save_checkpoint(folder.root().string(), "first", {.model = first.get()}, {});
  const auto second = make("kind = \"llama\"\n" + sizes + "1", false, 4);
  const auto numbers = [](const Parameter& p) {
    return std::vector<float>(p.value.as<float>(), p.value.as<float>() + p.value.shape().elements());
  };
  EXPECT_NE(numbers(*second->parameters().front()), numbers(*first->parameters().front()));
  take_weights(folder.path("first"), *second);
  for (std::size_t i = 0; i < first->parameters().size(); ++i)
    EXPECT_EQ(numbers(*second->parameters()[i]), numbers(*first->parameters()[i]));

  const auto deeper = make("kind = \"llama\"\n" + sizes + "2");
  expect_error([&] { take_weights(folder.path("first"), *deeper); }, ErrorKind::input, "model.missing",
               "model.layers.1.");
  save_checkpoint(folder.root().string(), "deeper", {.model = deeper.get()}, {});
  expect_error([&] { take_weights(folder.path("deeper"), *second); }, ErrorKind::input, "recipe.start",
               "which the model of the recipe lacks");
  const auto gru = make("kind = \"gru\"\nwidth = 16\nlayers = 1");
  expect_error([&] { take_weights(folder.path("first"), *gru); }, ErrorKind::usage, "recipe.model",
               "is for transformers");
}

// The same function at first; then both sides of what is new have a gradient.
TEST(ModelFactory, FeedForwardLayersMayGrow) {
  for (const std::string kind : {"llama", "decoder", "encoder-decoder"}) {
    const bool source = kind == "encoder-decoder";
    const std::string sizes = "kind = \"" + kind + "\"\nwidth = 16\nheads = 2\nlayers = 2\ninner = ";
    const auto narrow = make(sizes + "24", source, 3), wide = make(sizes + "40", source, 4);
    const testing::TempFolder folder;
    save_checkpoint(folder.root().string(), "narrow", {.model = narrow.get()}, {});
    models::Batch batch;
    batch.input.append(std::vector<std::int32_t>{1, 7, 9, 30, 12});
    if (source) batch.source.append(std::vector<std::int32_t>{8, 3, 2});
    batch.targets = {7, 9, 30, 12, 2};
    Context ctx({.threads = 1});
    const double before = narrow->evaluate(ctx, batch).plain;
    EXPECT_GT(std::abs(wide->evaluate(ctx, batch).plain - before), 1e-3) << kind;
    take_weights(folder.path("narrow"), *wide);
    EXPECT_NEAR(wide->evaluate(ctx, batch).plain, before, 1e-5) << kind;
    (void)wide->learn(ctx, batch, {});
    int grown = 0;
    for (std::size_t i = 0; i < wide->parameters().size(); ++i) {
      const Parameter &a = *narrow->parameters()[i], &b = *wide->parameters()[i];
      if (a.shape() == b.shape() || b.value.rank() == 1) continue;
      ++grown;
      double alive = 0;
      for (Index r = 0; r < b.value.dim(0); ++r)
        for (Index c = 0; c < b.value.dim(1); ++c)
          if (r >= a.value.dim(0) || c >= a.value.dim(1))
            alive += std::abs(b.value.at(r, c)) + std::abs(b.grad.at(r, c));
      EXPECT_GT(alive, 0) << b.name;
    }
    EXPECT_GE(grown, 4) << kind;
    expect_error([&] { take_weights(folder.path("narrow"), *make(sizes + "8", source)); }, ErrorKind::input,
                 "model.shape", "");
  }
}

// An encoder may be wider inside than its decoder, and may grow alone.
TEST(ModelFactory, EncodersMayGrowAlone) {
  const std::string sizes = "kind = \"encoder-decoder\"\nwidth = 16\nheads = 2\nlayers = 2\ninner = 24";
  const auto narrow = make(sizes, true, 3), wide = make(sizes + "\nencoder_inner = 40", true, 4);
  EXPECT_EQ(config_of(*wide).encoder[1].feed_forward.inner, 40);
  EXPECT_EQ(config_of(*wide).decoder[1].feed_forward.inner, 24);
  const testing::TempFolder folder;
  save_checkpoint(folder.root().string(), "narrow", {.model = narrow.get()}, {});
  models::Batch batch;
  batch.input.append(std::vector<std::int32_t>{1, 7, 9, 30, 12});
  batch.source.append(std::vector<std::int32_t>{8, 3, 2});
  batch.targets = {7, 9, 30, 12, 2};
  Context ctx({.threads = 1});
  take_weights(folder.path("narrow"), *wide);
  EXPECT_NEAR(wide->evaluate(ctx, batch).plain, narrow->evaluate(ctx, batch).plain, 1e-5);
}

TEST(ModelFactory, RefusesWhatMakesNoModel) {
  const auto refused = [](const std::string& model, const std::string& words, bool source = false) {
    try {
      (void)make(model, source);
      ADD_FAILURE() << "no error: " << model;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  refused("kind = \"decoder\"\nwidth = 16", "must be given, or model.preset");
  refused("kind = \"decoder\"\nwidth = 16\nlayers = 1\nheads = 3", "is not a multiple of 3 heads");
  refused("kind = \"decoder\"\nwidth = 16\nlayers = 1\nheads = 2", "reads one sequence only", true);
  refused("kind = \"encoder-decoder\"\nwidth = 16\nlayers = 1\nheads = 2",
          "reads a source; the task has none");
  refused("kind = \"gru\"\nwidth = 16\nlayers = 1\nheads = 2", "the other settings are for transformers");
  refused("kind = \"gru-seq2seq\"\nwidth = 16\nlayers = 1", "reads a source");
  refused("kind = \"decoder\"\npreset = \"gpt5\"", "no preset is called \"gpt5\"");
  refused("kind = \"decoder\"\nwidth = 16\nlayers = 1\nheads = 2\npositions = \"alibi\"", "gpt2");
}

}  // namespace
}  // namespace headlight::train
