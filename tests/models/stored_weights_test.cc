// Models that keep their matrices as the files store them.
#include "models/stored_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "models/generate.h"
#include "models/load.h"
#include "models/random_model.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::TempFolder;

Tokens some_tokens(Index count, Index vocabulary) {
  std::vector<std::int32_t> ids;
  for (Index i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((i * i + 3) % vocabulary));
  Tokens tokens;
  tokens.append(ids);
  return tokens;
}

double difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (Index i = 0; i < a.shape().elements(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(a.as<float>()[i] - b.as<float>()[i])));
  return worst;
}

class StoredWeights : public ::testing::TestWithParam<StoredType> {
 protected:
  StoredWeights() { write_random_model(folder(), known_shape("tiny"), GetParam()); }
  [[nodiscard]] std::string folder() const { return temp_.path("model"); }
  TempFolder temp_;
};

TEST_P(StoredWeights, ComputeWhatTheirFloatsDo) {
  Context ctx({.threads = 2});
  const auto stored = load_transformer(folder()).model;
  const auto own = load_transformer(folder(), DType::f32, nn::Weights::own).model;
  Index matrices = 0;
  for (const Parameter* parameter : stored->parameters()) {
    if (parameter->shape().rank != 2) continue;
    ++matrices;
    EXPECT_EQ(parameter->stored.type(), GetParam()) << parameter->name;
    EXPECT_TRUE(parameter->value.empty());
  }
  EXPECT_EQ(matrices, 15);
  // Many rows have the same bits; few rows have other roundings.
  const Tokens tokens = some_tokens(40, 96);
  EXPECT_EQ(difference(stored->logits(ctx, tokens), own->logits(ctx, tokens)), 0);
  Decoding a = stored->start(ctx, 1), b = own->start(ctx, 1);
  for (Index i = 0; i < 6; ++i)
    EXPECT_LT(difference(stored->next(ctx, a, some_tokens(1 + i % 2, 96)),
                         own->next(ctx, b, some_tokens(1 + i % 2, 96))),
              2e-6);
}

TEST_P(StoredWeights, OutliveTheirLoader) {
  Context ctx({.threads = 1});
  const auto model = load_transformer(folder()).model;
  const Tensor before = model->logits(ctx, some_tokens(9, 96));
  // The folder's name is gone, its mapped bytes are not.
  std::filesystem::remove_all(folder());
  EXPECT_EQ(difference(model->logits(ctx, some_tokens(9, 96)), before), 0);
}

TEST_P(StoredWeights, AreTheSameAsInMemory) {
  Context ctx({.threads = 1});
  const auto made = random_model(known_shape("tiny"), GetParam());
  const auto read = load_transformer(folder()).model;
  EXPECT_EQ(difference(made->logits(ctx, some_tokens(5, 96)), read->logits(ctx, some_tokens(5, 96))), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, StoredWeights,
                         ::testing::Values(StoredType::f32, StoredType::f16, StoredType::bf16,
                                           StoredType::int8),
                         [](const auto& row) { return std::string(name_of(row.param)); });

TEST(StoredModel, AreNotTrained) {
  const auto model = random_model(known_shape("tiny"), StoredType::bf16);
  Context ctx({.threads = 1});
  Batch batch;
  batch.input = some_tokens(4, 96);
  batch.targets = {1, 2, 3, 4};
  expect_error([&] { (void)model->learn(ctx, batch, {}); }, ErrorKind::usage, "model.stored",
               "was loaded for inference; load the model with its own weights to train it");
}

// A q8_0 model has no safetensors; it is made in memory here and read from .gguf files elsewhere.
TEST(StoredModel, BlocksOfEightBits) {
  Context ctx({.threads = 2});
  TransformerConfig config = known_shape("tiny");
  const auto blocks = random_model(config, StoredType::q8_0), floats = random_model(config, StoredType::f32);
  const Tokens tokens = some_tokens(20, 96);
  const double error = difference(blocks->logits(ctx, tokens), floats->logits(ctx, tokens));
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.05);
}

// Rows of the table that are not aligned to their elements are copied; everything else of the file is not.
TEST(StoredModel, OddPlacesAreCopied) {
  const TempFolder temp;
  write_random_model(temp.path("model"), known_shape("tiny"), StoredType::f32);
  const std::string path = temp.path("model") + "/model.safetensors";
  std::string text;
  {
    std::ifstream in(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  length += 2;  // two more spaces: all data moves by two bytes
  text.insert(static_cast<std::size_t>(length + 6), "  ");
  std::memcpy(text.data(), &length, sizeof length);
  Context ctx({.threads = 1});
  const Tokens tokens = some_tokens(10, 96);
  const Tensor before = load_transformer(temp.path("model")).model->logits(ctx, tokens);
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(difference(load_transformer(temp.path("model")).model->logits(ctx, tokens), before), 0);
}

TEST(RandomModel, RefusesWhatItDoesNotKnow) {
  expect_error([] { (void)known_shape("llama-2b"); }, ErrorKind::usage, "model.shape",
               "choose one of llama-1b, llama-8b, llama-70b, gpt2-small, tiny");
  const TempFolder temp;
  expect_error([&] { write_random_model(temp.path("m"), known_shape("tiny"), StoredType::q8_0); },
               ErrorKind::usage, "model.shape", "q8_0 is for .gguf files");
}

// The parameters that the names promise.
TEST(RandomModel, HasItsSize) {
  EXPECT_NEAR(least_parameters(known_shape("llama-1b")), 1.04e9, 0.01e9);
  EXPECT_NEAR(least_parameters(known_shape("gpt2-small")), 152e6, 1e6);
}

}  // namespace
}  // namespace headlight::models
