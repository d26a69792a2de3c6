// Whole models from GGUF files: real ones in every precision they come in, and ones that make no sense.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "models/families.h"
#include "models/golden.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::GgufWriter;

// ---- The story models --------------------------------------------------------------------------------

struct Story {
  const char *model, *type;
};

class GgufStory : public ::testing::TestWithParam<Story> {
 protected:
  void SetUp() override {
    const auto shared = headlight::testing::shared_data();
    folder_ = *shared / "data/models" / GetParam().model;
    golden_ = headlight::testing::read_safetensors(folder_ / "gguf-golden.safetensors");
  }
  [[nodiscard]] Tensor logits() const {
    const std::string file = std::string(GetParam().model) + "-" + GetParam().type + ".gguf";
    const LoadedTransformer loaded = load_transformer((folder_ / file).string());
    EXPECT_TRUE(loaded.unused.empty());
    EXPECT_TRUE(loaded.notices.empty());
    const Tensor& ids = golden_.at("input_ids");
    std::vector<std::int32_t> row;
    for (Index t = 0; t < ids.dim(1); ++t) row.push_back(static_cast<std::int32_t>(ids.at(0, t)));
    Tokens tokens;
    tokens.append(row);
    Context ctx({.threads = 2});
    return loaded.model->logits(ctx, tokens);
  }
  std::filesystem::path folder_;
  std::map<std::string, Tensor> golden_;
};

TEST_P(GgufStory, GoldenLogits) {
  const Tensor found = logits();
  const std::string type = GetParam().type;
  double worst = 0;
  const auto take = [&](double a, double b) { worst = std::max(worst, std::abs(a - b)); };
  if (const auto all = golden_.find("logits." + type); all != golden_.end()) {
    for (Index t = 0; t < found.dim(0); ++t)
      for (Index v = 0; v < found.dim(1); ++v) take(found.at(t, v), all->second.at(0, t, v));
  } else {
    const Tensor &places = golden_.at("logits_top16." + type + ".indices"),
                 &values = golden_.at("logits_top16." + type + ".values");
    for (Index t = 0; t < found.dim(0); ++t)
      for (Index i = 0; i < 16; ++i) take(found.at(t, static_cast<Index>(places.at(t, i))), values.at(t, i));
  }
  EXPECT_LT(worst, 1e-4);
}

std::vector<Story> stories() {
  if (!headlight::testing::shared_data()) return {};
  return {{"stories260K", "f32"},  {"stories260K", "f16"},  {"stories260K", "bf16"}, {"stories260K", "q8_0"},
          {"stories260K", "q5_1"}, {"stories260K", "q4_0"}, {"stories15M", "q8_0"},  {"stories15M", "q4_0"}};
}
INSTANTIATE_TEST_SUITE_P(All, GgufStory, ::testing::ValuesIn(stories()),
                         [](const auto& row) { return std::string(row.param.model) + "_" + row.param.type; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GgufStory);

HEADLIGHT_SHARED_TEST(GgufWeights, GiveTheBytesAsTheyAre) {
  const auto shared = headlight::testing::shared_data();
  const io::Gguf file = io::Gguf::open((*shared / "data/models/stories260K/stories260K-q8_0.gguf").string());
  const GgufWeights weights(file);
  const auto tensor = weights.find("blk.0.attn_q.weight");
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(tensor->type, "Q8_0");
  EXPECT_EQ(tensor->shape, (std::vector<Index>{64, 64}));
  const std::span<const std::byte> bytes = weights.bytes(tensor->name);
  ASSERT_EQ(bytes.size(), 64U * 64 / 32 * 34);
  Tensor floats({64, 64}), again({64, 64}), doubles({64, 64}, DType::f64);
  weights.load(tensor->name, floats);
  weights.load(tensor->name, doubles);
  io::dequantize(*io::find_block_type("Q8_0"), bytes, again.as<float>());
  for (Index i = 0; i < 64 * 64; ++i) {
    ASSERT_EQ(floats.as<float>()[i], again.as<float>()[i]);
    ASSERT_EQ(static_cast<double>(floats.as<float>()[i]), doubles.as<double>()[i]);
  }
  EXPECT_FALSE(weights.find("absent").has_value());
}

// ---- Models that make no sense -----------------------------------------------------------------------

// A small llama whose values a test may change before it is written.
struct Small {
  std::map<std::string, std::function<void(GgufWriter&)>> values;
  std::map<std::string, Shape> tensors;

  Small() {
    text("general.architecture", "llama");
    count("context_length", 16);
    count("embedding_length", 8);
    count("block_count", 1);
    count("feed_forward_length", 12);
    count("attention.head_count", 2);
    number("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    tensors = {{"token_embd.weight", {5, 8}},        {"output_norm.weight", {8}},
               {"blk.0.attn_norm.weight", {8}},      {"blk.0.attn_q.weight", {8, 8}},
               {"blk.0.attn_k.weight", {8, 8}},      {"blk.0.attn_v.weight", {8, 8}},
               {"blk.0.attn_output.weight", {8, 8}}, {"blk.0.ffn_norm.weight", {8}},
               {"blk.0.ffn_gate.weight", {12, 8}},   {"blk.0.ffn_up.weight", {12, 8}},
               {"blk.0.ffn_down.weight", {8, 12}}};
  }
  template <class T>
  Small& number(const std::string& key, T value) {
    values[key] = [=](GgufWriter& w) { w.number(key, value); };
    return *this;
  }
  Small& text(const std::string& key, const std::string& value) {
    values[key] = [=](GgufWriter& w) { w.text(key, value); };
    return *this;
  }
  Small& count(const std::string& key, std::uint32_t value) { return number("llama." + key, value); }
  [[nodiscard]] GgufWriter writer() const {
    GgufWriter w;
    for (const auto& [key, write] : values) write(w);
    for (const auto& [name, shape] : tensors) w.tensor(name, Tensor(shape));
    return w;
  }
  [[nodiscard]] LoadedTransformer load() const {
    const headlight::testing::TempFolder temp;
    std::ofstream(temp.path("m.gguf"), std::ios::binary) << writer().text();
    return load_transformer(temp.path("m.gguf"));
  }
  void refused(const std::string& code, const std::string& words) const {
    expect_error([&] { (void)load(); }, ErrorKind::input, code, words);
  }
};

TEST(GgufModel, LoadsAndSaysWhatItIs) {
  const LoadedTransformer loaded = Small().load();
  const TransformerConfig& c = loaded.model->config();
  EXPECT_EQ(c.vocabulary, 5);
  EXPECT_EQ(c.decoder[0].attention.head_dim, 4);
  EXPECT_EQ(c.decoder[0].norm.eps, 1e-5);
  EXPECT_TRUE(c.head.tied);
  EXPECT_TRUE(c.decoder[0].attention.rope->interleaved);
  EXPECT_TRUE(loaded.unused.empty());
}

TEST(GgufModel, G16Heads) {
  Small()
      .count("attention.head_count", 0)
      .refused("gguf.heads", "llama.attention.head_count is 0; need 1 to");
  Small().count("attention.head_count", 3).refused("gguf.heads", "width 8 is not a multiple of 3 heads");
  Small().count("attention.head_count_kv", 0).refused("gguf.heads", "head_count_kv is 0");
  Small()
      .count("attention.head_count_kv", 4)
      .refused("gguf.heads", "2 heads are not a multiple of 4 key heads");
  Small().number<std::int32_t>("llama.attention.head_count", -2).refused("gguf.heads", "is -2");
  Small()
      .count("attention.key_length", 4)
      .count("attention.value_length", 2)
      .refused("gguf.heads", "different lengths");
}

TEST(GgufModel, G17Layers) {
  Small()
      .count("block_count", ~0U)
      .refused("gguf.layers", "llama.block_count is 4294967295; need 1 to 10000");
  Small().text("llama.block_count", "1").refused("gguf.layers", "is text; need an integer");
  Small().number<std::int32_t>("llama.block_count", -1).refused("gguf.layers", "is -1");
  Small().count("block_count", 0).refused("gguf.layers", "is 0");
  Small().number("llama.block_count", 1.0F).refused("gguf.layers", "is f32");
  Small().count("block_count", 2).refused("model.size", "its metadata describes a model of");
  Small lacking;
  lacking.values.erase("llama.block_count");
  lacking.refused("gguf.layers", "lacks llama.block_count");
}

TEST(GgufModel, G18Widths) {
  Small()
      .count("embedding_length", 16)
      .refused("gguf.width", "token_embd.weight\" is F32 [5, 8]; embedding_length is 16");
  Small().count("rope.dimension_count", 3).refused("gguf.rope", "3 of 4 dimensions");
  Small().count("rope.dimension_count", 6).refused("gguf.rope", "6 of 4 dimensions");
  for (const float eps :
       {std::numeric_limits<float>::quiet_NaN(), -1.0F, std::numeric_limits<float>::infinity()})
    Small()
        .number("llama.attention.layer_norm_rms_epsilon", eps)
        .refused("gguf.epsilon", "layer_norm_rms_epsilon is");
  Small().number("llama.rope.freq_base", -1.0F).refused("gguf.rope", "freq_base is -1");
  Small()
      .number("llama.rope.freq_base", std::numeric_limits<float>::quiet_NaN())
      .refused("gguf.number", "is nan");
  Small()
      .text("llama.rope.scaling.type", "longrope")
      .refused("gguf.rope", "needs a tensor \"rope_factors_short.weight\"");
  Small().text("llama.rope.scaling.type", "su").refused("gguf.rope", "none, linear, yarn and longrope");
  Small longrope;
  longrope.tensors["rope_factors_short.weight"] = {3};
  longrope.refused("gguf.rope", "3 numbers for 2 pairs");
  longrope.tensors["rope_factors_short.weight"] = {2};
  longrope.refused("gguf.rope", "\"rope_factors_short.weight\" has the factor 0");
  Small odd;
  odd.tensors["blk.0.attn_k.weight"] = {16, 8};
  odd.refused("model.shape",
              "parameter \"blk.0.attn_k.weight\" is F32 [16, 8]; its metadata requires [8, 8]");
  Small factors;
  factors.tensors["rope_freqs.weight"] = {3};
  factors.refused("gguf.rope", "3 numbers for 2 pairs");
  factors.tensors["rope_freqs.weight"] = {2};
  factors.refused("gguf.rope", "has the factor 0");
}

TEST(GgufModel, G19Context) {
  const LoadedTransformer loaded = Small().count("context_length", 1U << 31).load();
  ASSERT_EQ(loaded.notices.size(), 1U);
  EXPECT_NE(loaded.notices[0].find("a context of 2147483648 tokens is implausible; using 16777216"),
            std::string::npos);
  EXPECT_EQ(loaded.model->config().max_positions, 1 << 24);
  Small().count("context_length", 0).refused("gguf.context", "is 0");
}

TEST(GgufModel, G21SpecialTokens) {
  Small()
      .number("tokenizer.ggml.bos_token_id", 5U)
      .refused("gguf.token_id", "the bos token has the id 5 in a vocabulary of 5");
  Small().number("tokenizer.ggml.eos_token_id", ~0U).refused("gguf.token_id", "the eos token");
  Small many;
  many.values["tokenizer.ggml.tokens"] = [](GgufWriter& w) {
    w.texts("tokenizer.ggml.tokens", {"a", "b", "c", "d", "e", "f"});
  };
  many.refused("gguf.tokens", "6 tokens for a vocabulary of 5");
}

TEST(GgufModel, G23Architectures) {
  Small()
      .text("general.architecture", "%s%n")
      .refused("gguf.architecture", "\"%s%n\" is not supported; supported are gpt2, gptneox, llama");
  Small().text("general.architecture", "mamba\x1b[0m").refused("gguf.architecture", "\"mamba\\x1b[0m\"");
  Small().number("general.architecture", 1U).refused("gguf.kind", "need a text");
  Small lacking;
  lacking.values.erase("general.architecture");
  lacking.refused("gguf.architecture", "has no general.architecture");
}

TEST(GgufModel, TensorsThatAreMissingOrMeanMore) {
  Small lacking;
  lacking.tensors.erase("blk.0.ffn_norm.weight");
  lacking.refused("model.missing", "parameter \"blk.0.ffn_norm.weight\" not found among 10 tensors");
  lacking.tensors.erase("token_embd.weight");
  lacking.refused("gguf.vocabulary", "no tensor \"token_embd.weight\"");
  Small more;
  more.tensors["blk.0.ffn_sub_norm.weight"] = {8};
  more.refused("gguf.unused", "tensor \"blk.0.ffn_sub_norm.weight\" is not used");
  Small().number("split.count", 3U).refused("gguf.split", "part of a split model");
  Small().count("expert_count", 8).refused("gguf.experts", "lacks llama.expert_used_count");
  Small()
      .count("expert_count", 8)
      .count("expert_used_count", 9)
      .refused("gguf.experts", "llama.expert_used_count is 9: need 1 to 8");
  Small().count("expert_count", 8).count("expert_used_count", 2).refused("model.size", "describes a model");
}

}  // namespace
}  // namespace headlight::models
