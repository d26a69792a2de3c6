// Folders as strangers make them: other names, shards, missing and misshapen tensors.
#include "models/load.h"

#include <gtest/gtest.h>

#include "models/small_folder.h"
#include "support/errors.h"
#include "support/shared_data.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;

TEST(Load, WhatWasWritten) {
  SmallFolder folder;
  folder.write("model.safetensors", folder.tensors);
  const LoadedTransformer loaded = folder.load();
  folder.expect_same(loaded);
  EXPECT_TRUE(loaded.unused.empty());
  EXPECT_EQ(loaded.model->config_json(), folder.model.config_json());
}

TEST(Load, BareModelsAndBuffers) {
  SmallFolder folder;
  for (io::NamedTensor& tensor : folder.tensors)
    tensor.name = tensor.name.substr(std::string("transformer.").size());
  const Tensor mask({1, 1, 4, 4});
  folder.tensors.push_back({"h.0.attn.bias", mask});
  folder.write("model.safetensors", folder.tensors);
  const LoadedTransformer loaded = folder.load();
  folder.expect_same(loaded);
  EXPECT_EQ(loaded.unused, std::vector<std::string>{"h.0.attn.bias"});
}

TEST(Load, Shards) {
  SmallFolder folder;
  folder.write_shards();
  folder.expect_same(folder.load());
  folder.write_text("model.safetensors.index.json", "{\"weight_map\": {\"x\": \"../a.safetensors\"}}");
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "folder.name",
               "\"../a.safetensors\" is not a file name in this folder");
}

TEST(Load, RefusesByName) {
  SmallFolder folder;
  expect_error([&] { (void)folder.load(); }, ErrorKind::file, "model.weights",
               "has no parameters; need model.safetensors");
  const Tensor wrong({3, 8});
  for (io::NamedTensor& tensor : folder.tensors)
    if (tensor.name == "transformer.wpe.weight") tensor.tensor = wrong;
  folder.write("model.safetensors", folder.tensors);
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.shape",
               "parameter \"transformer.wpe.weight\" is F32 [3, 8]; config.json requires [4, 8]");

  SmallFolder lacking;
  std::erase_if(lacking.tensors,
                [](const auto& tensor) { return tensor.name == "transformer.h.0.ln_1.weight"; });
  lacking.write("model.safetensors", lacking.tensors);
  expect_error([&] { (void)lacking.load(); }, ErrorKind::input, "model.missing",
               "parameter \"transformer.h.0.ln_1.weight\" not found among 15 tensors; the closest is "
               "\"transformer.h.0.ln_2.weight\"");
}

TEST(Load, EncodersWithoutTheirHead) {
  const std::filesystem::path from = headlight::testing::golden_folder("bert");
  const LoadedTransformer whole = load_transformer(from.string(), DType::f32, nn::Weights::own);
  const headlight::testing::TempFolder temp;
  std::filesystem::copy(from / "config.json", temp.path("config.json"));
  std::vector<io::NamedTensor> tensors;
  for (Parameter* p : whole.model->parameters())
    if (const std::string name = whole.model->file_name(*p); name.starts_with("bert."))
      tensors.push_back({name.substr(5), p->value});
  io::Outputs outputs(io::Existing::replace);
  outputs.reserve(temp.path("model.safetensors"));
  io::write_safetensors(outputs, temp.path("model.safetensors"), tensors);
  outputs.commit();
  const LoadedTransformer bare = load_transformer(temp.root().string(), DType::f32, nn::Weights::own);
  EXPECT_TRUE(bare.model->config().head.absent);
  ASSERT_EQ(bare.notices.size(), 1U);
  Context ctx({.threads = 1});
  Tokens tokens;
  tokens.append(std::vector<std::int32_t>{5, 6, 7});
  const Tensor a = whole.model->encode(ctx, tokens), b = bare.model->encode(ctx, tokens);
  for (Index i = 0; i < a.shape().elements(); ++i) ASSERT_EQ(a.as<float>()[i], b.as<float>()[i]);
  expect_error([&] { (void)bare.model->logits(ctx, tokens); }, ErrorKind::usage, "model.call",
               "without its prediction head");
}

TEST(Load, RefusesConfigsThatItDoesNotUnderstand) {
  SmallFolder folder;
  folder.write("model.safetensors", folder.tensors);
  folder.write_text("config.json", "{\"model_type\": \"mamba\"}");
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.family", "\"mamba\" is not supported");
  std::string large = folder.model.config_json();
  large.replace(large.find("\"n_layer\": 1"), 12, "\"n_layer\": 9000");
  folder.write_text("config.json", large);
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.size", "its files have");
  large.replace(large.find("9000"), 4, "9000000000000");
  folder.write_text("config.json", large);
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.config",
               "a model of 9000000000000 layers");
  std::string text = folder.model.config_json();
  text.replace(text.find("gelu_new"), 8, "snake");
  folder.write_text("config.json", text);
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.config",
               "activation_function is \"snake\": not supported");
}

}  // namespace
}  // namespace headlight::models
