// Folders as strangers make them: other names, shards, missing and misshapen tensors.
#include "models/load.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/json.h"
#include "io/outputs.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::TempFolder;

// A small model's folder that a test may damage before it is written.
struct Folder {
  TempFolder temp;
  Transformer model;
  std::vector<io::NamedTensor> tensors;
  std::vector<Tensor> kept;

  Folder() : model(gpt_config({.vocabulary = 11, .width = 8, .layers = 1, .heads = 2, .context = 4})) {
    model.initialize(1);
    for (Parameter* p : model.parameters()) tensors.push_back({p->name, p->value});
    write_text("config.json", model.config_json());
  }
  void write_text(const std::string& name, const std::string& text) const {
    std::ofstream(temp.path(name)) << text;
  }
  void write(const std::string& name, std::span<const io::NamedTensor> list) const {
    io::Outputs outputs(io::Existing::replace);
    outputs.reserve(temp.path(name));
    io::write_safetensors(outputs, temp.path(name), list);
    outputs.commit();
  }
  [[nodiscard]] LoadedTransformer load() const {
    return load_transformer(temp.root().string(), DType::f32, nn::Weights::own);
  }
  void expect_same(const LoadedTransformer& loaded) {
    const Parameters mine = model.parameters(), theirs = loaded.model->parameters();
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t p = 0; p < mine.size(); ++p)
      for (Index i = 0; i < mine[p]->value.shape().elements(); ++i)
        ASSERT_EQ(mine[p]->value.as<float>()[i], theirs[p]->value.as<float>()[i]) << mine[p]->name;
  }
};

TEST(Load, WhatWasWritten) {
  Folder folder;
  folder.write("model.safetensors", folder.tensors);
  const LoadedTransformer loaded = folder.load();
  folder.expect_same(loaded);
  EXPECT_TRUE(loaded.unused.empty());
  EXPECT_EQ(loaded.model->config_json(), folder.model.config_json());
}

TEST(Load, BareModelsAndBuffers) {
  Folder folder;
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
  Folder folder;
  const std::span<const io::NamedTensor> all = folder.tensors;
  folder.write("a.safetensors", all.first(5));
  folder.write("b.safetensors", all.subspan(5));
  std::string map;
  for (std::size_t i = 0; i < all.size(); ++i)
    map += (i > 0 ? ", " : "") + io::json_quoted(all[i].name) + ": " +
           (i < 5 ? "\"a.safetensors\"" : "\"b.safetensors\"");
  folder.write_text("model.safetensors.index.json", "{\"weight_map\": {" + map + "}}");
  folder.expect_same(folder.load());
  folder.write_text("model.safetensors.index.json", "{\"weight_map\": {\"x\": \"../a.safetensors\"}}");
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.index", "is not a file of this folder");
}

TEST(Load, RefusesByName) {
  Folder folder;
  expect_error([&] { (void)folder.load(); }, ErrorKind::file, "model.weights",
               "has no weights; need model.safetensors");
  const Tensor wrong({3, 8});
  for (io::NamedTensor& tensor : folder.tensors)
    if (tensor.name == "transformer.wpe.weight") tensor.tensor = wrong;
  folder.write("model.safetensors", folder.tensors);
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.shape",
               "weight \"transformer.wpe.weight\" is F32 [3, 8]; config.json makes it [4, 8]");

  Folder lacking;
  std::erase_if(lacking.tensors,
                [](const auto& tensor) { return tensor.name == "transformer.h.0.ln_1.weight"; });
  lacking.write("model.safetensors", lacking.tensors);
  expect_error([&] { (void)lacking.load(); }, ErrorKind::input, "model.missing",
               "weight \"transformer.h.0.ln_1.weight\" not found among 15 tensors; the closest is "
               "\"transformer.h.0.ln_2.weight\"");
}

TEST(Load, RefusesConfigsThatItDoesNotUnderstand) {
  Folder folder;
  folder.write("model.safetensors", folder.tensors);
  folder.write_text("config.json", "{\"model_type\": \"mamba\"}");
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.family",
               "\"mamba\" are not known here");
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
               "\"snake\", which is not known here");
}

}  // namespace
}  // namespace headlight::models
