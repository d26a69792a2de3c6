// A small model's folder for tests of loading: valid until a test damages it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "io/json.h"
#include "io/outputs.h"
#include "models/load.h"
#include "support/temp_folder.h"

namespace headlight::models {

struct SmallFolder {
  testing::TempFolder temp;
  Transformer model;
  std::vector<io::NamedTensor> tensors;
  std::vector<Tensor> kept;

  SmallFolder() : model(gpt_config({.vocabulary = 11, .width = 8, .layers = 1, .heads = 2, .context = 4})) {
    model.initialize(1);
    for (Parameter* p : model.parameters()) tensors.push_back({model.file_name(*p), p->value});
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
  void write_all() const { write("model.safetensors", tensors); }
  // Two shards, with this text in the place of the index; without it, the right one.
  void write_shards(const std::string& index = "") const {
    const std::span<const io::NamedTensor> all = tensors;
    write("a.safetensors", all.first(5));
    write("b.safetensors", all.subspan(5));
    std::string map;
    for (std::size_t i = 0; i < all.size(); ++i)
      map += (i > 0 ? ", " : "") + io::json_quoted(all[i].name) + ": " +
             (i < 5 ? "\"a.safetensors\"" : "\"b.safetensors\"");
    write_text("model.safetensors.index.json", index.empty() ? "{\"weight_map\": {" + map + "}}" : index);
  }
  [[nodiscard]] std::string path() const { return temp.root().string(); }
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

}  // namespace headlight::models
