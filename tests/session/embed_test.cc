// Vectors of texts against hidden states that another implementation computed (tests/golden, float64 NumPy): pooled here by
// their definitions in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "headlight/embed.h"
#include "support/places.h"
#include "support/safetensors_reader.h"
#include "support/temp_folder.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

class EmbedGolden : public ::testing::TestWithParam<const char*> {
 protected:
  // The model's folder with a tokenizer whose word "w7" is token 7, so that a text is any list of tokens.
  void SetUp() override {
    const fs::path from = fs::path(testing::source_folder()) / "tests/golden" / GetParam();
    for (const char* file : {"config.json", "model.safetensors"})
      fs::copy_file(from / file, folder_.root() / file);
    std::string vocab;
    for (int id = 0; id < 20; ++id)
      vocab += (id > 0 ? ", \"w" : "\"w") + std::to_string(id) + "\": " + std::to_string(id);
    std::ofstream(folder_.root() / "tokenizer.json")
        << R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,)"
        << R"( "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,)"
        << R"( "model": {"type": "WordLevel", "unk_token": "w0", "vocab": {)" << vocab << "}}}";
    golden_ = testing::read_safetensors(from / "golden.safetensors");
  }
  [[nodiscard]] Index length(Index row) const {
    Index n = 0;
    for (Index t = 0; t < golden_.at("attention_mask").dim(1); ++t)
      n += golden_.at("attention_mask").at(row, t) != 0 ? 1 : 0;
    return n;
  }
  [[nodiscard]] std::string text(Index row) const {
    std::string words;
    for (Index t = 0; t < length(row); ++t)
      words += " w" + std::to_string(static_cast<int>(golden_.at("input_ids").at(row, t)));
    return words.substr(1);
  }
  [[nodiscard]] double wanted(Index row, Index d, Pooling pooling) const {
    const Tensor& states = golden_.at("hidden_states.2");
    const Index n = length(row);
    double sum = 0, largest = -INFINITY;
    for (Index t = 0; t < n; ++t) {
      sum += states.at(row, t, d);
      largest = std::max(largest, states.at(row, t, d));
    }
    switch (pooling) {
      case Pooling::mean: return sum / static_cast<double>(n);
      case Pooling::max: return largest;
      case Pooling::first: return states.at(row, 0, d);
      case Pooling::last: return states.at(row, n - 1, d);
    }
    return 0;
  }

  testing::TempFolder folder_;
  std::map<std::string, Tensor> golden_;
};

TEST_P(EmbedGolden, EveryPooling) {
  const Model model = Model::open(folder_.root().string());
  Context ctx({.threads = 1});
  const std::vector<std::string> texts = {text(0), text(1)};
  for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::max, Pooling::last}) {
    for (const bool normalise : {false, true}) {
      const Embeddings found = embed(ctx, model, texts, {.pooling = pooling, .normalise = normalise});
      for (Index row = 0; row < 2; ++row) {
        ASSERT_EQ(found.tokens[static_cast<std::size_t>(row)], length(row));
        double squares = 0;
        for (Index d = 0; d < 8; ++d) squares += wanted(row, d, pooling) * wanted(row, d, pooling);
        for (Index d = 0; d < 8; ++d)
          EXPECT_NEAR(found.vectors.at(row, d),
                      wanted(row, d, pooling) / (normalise ? std::sqrt(squares) : 1), 1e-5)
              << name_of(pooling) << ' ' << row << ' ' << d;
      }
    }
  }
}

TEST(Embeddings, AreComparedByTheirAngle) {
  Tensor vectors({4, 2});
  const double rows[4][2] = {{3, 0}, {0, 0.5}, {2, 2}, {0, 0}};
  for (Index i = 0; i < 4; ++i)
    for (Index d = 0; d < 2; ++d) vectors.view().set(i, d, rows[i][d]);
  const Tensor found = cosine_similarities(vectors);
  EXPECT_EQ(found.at(0, 0), 1);
  EXPECT_EQ(found.at(0, 1), 0);
  EXPECT_NEAR(found.at(2, 0), std::sqrt(0.5), 1e-15);
  EXPECT_EQ(found.at(1, 2), found.at(2, 1));
  EXPECT_EQ(found.at(3, 3), 0);
}

INSTANTIATE_TEST_SUITE_P(Encoders, EmbedGolden, ::testing::Values("roberta", "distilbert", "mpnet"));

}  // namespace
}  // namespace headlight
