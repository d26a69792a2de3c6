// T5 in GGUF: a golden folder's tensors under GGUF's names compute the folder's bits.
#include <gtest/gtest.h>

#include <fstream>

#include "models/golden.h"
#include "models/verify.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::GgufWriter;
using headlight::testing::TempFolder;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// "encoder.block.1.layer.0.SelfAttention.q.weight" as GGUF has it.
std::string gguf_name(const std::string& hub) {
  static const std::pair<const char*, const char*> kParts[] = {
      {"shared.", "token_embd."},
      {"lm_head.", "output."},
      {"encoder.final_layer_norm.", "enc.output_norm."},
      {"decoder.final_layer_norm.", "dec.output_norm."},
      {"encoder.block.", "enc.blk."},
      {"decoder.block.", "dec.blk."},
      {"layer.0.SelfAttention.relative_attention_bias.", "attn_rel_b."},
      {"layer.0.SelfAttention.", "attn_"},
      {"layer.0.layer_norm.", "attn_norm."},
      {"layer.1.EncDecAttention.", "cross_attn_"},
      {"layer.1.DenseReluDense.", "ffn_"},
      {"layer.2.DenseReluDense.", "ffn_"},
      {"layer.2.layer_norm.", "ffn_norm."},
      {"wi_0.", "gate."},
      {"wi_1.", "up."},
      {"wi.", "up."},
      {"wo.", "down."}};
  std::string name = hub;
  for (const auto& [from, to] : kParts)
    if (const std::size_t at = name.find(from); at != std::string::npos)
      name.replace(at, std::string_view(from).size(), to);
  const std::string second = name.starts_with("enc.") ? "ffn_norm." : "cross_attn_norm.";
  if (const std::size_t at = name.find("layer.1.layer_norm."); at != std::string::npos)
    name.replace(at, std::string_view("layer.1.layer_norm.").size(), second);
  return name;
}

GgufWriter t5_file(const std::filesystem::path& path) {
  const ModelFiles files(path.string());
  const WeightSource& weights = files.weights();
  const TransformerConfig c = files.describe().config;
  GgufWriter w;
  const auto count = [&](const std::string& key, Index value) {
    w.number("t5." + key, static_cast<std::uint32_t>(value));
  };
  w.text("general.architecture", "t5");
  count("context_length", 512);
  count("embedding_length", c.width);
  count("feed_forward_length", c.encoder[0].feed_forward.inner);
  count("block_count", static_cast<Index>(c.encoder.size()));
  count("attention.head_count", c.encoder[0].attention.heads);
  count("attention.key_length", c.encoder[0].attention.head_dim);
  count("attention.value_length", c.encoder[0].attention.head_dim);
  w.number("t5.attention.layer_norm_epsilon", static_cast<float>(c.encoder[0].norm.eps));
  w.number("t5.attention.layer_norm_rms_epsilon", static_cast<float>(c.encoder[0].norm.eps));
  count("attention.relative_buckets_count", c.relative->buckets);
  count("decoder_start_token_id", c.decoder_start);
  w.number("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(c.end()));
  w.number("tokenizer.ggml.padding_token_id", static_cast<std::uint32_t>(c.pad));
  for (const StoredTensor& stored : weights.tensors()) {
    Tensor tensor{Shape(stored.shape)};
    weights.load(stored.name, tensor);
    w.tensor(gguf_name(std::string(stored.name)), tensor);
  }
  return w;
}

// GGUF says nothing of two things: all its T5 have the usual distance, and scale what a shared table sees.
std::string usual(std::string config) {
  for (const char* line : {"\"relative_attention_max_distance\": 16,", "\"scale_decoder_outputs\": true,",
                           "\"scale_decoder_outputs\": false,"})
    if (const std::size_t at = config.find(line); at != std::string::npos)
      config.erase(at, std::string_view(line).size());
  return config;
}

class GgufT5 : public ::testing::TestWithParam<std::string> {};

TEST_P(GgufT5, ComputesTheFoldersBits) {
  const std::filesystem::path path = GetParam();
  const TempFolder temp;
  std::filesystem::create_directory(temp.path("folder"));
  std::filesystem::copy_file(path / "model.safetensors", temp.path("folder/model.safetensors"));
  std::ofstream(temp.path("folder/config.json")) << usual(text_of(path / "config.json"));
  std::ofstream(temp.path("m.gguf"), std::ios::binary) << t5_file(temp.path("folder")).text();
  EXPECT_FALSE(verify(temp.path("m.gguf")).refusal.has_value());
  const LoadedTransformer file = load_transformer(temp.path("m.gguf")),
                          folder = load_transformer(temp.path("folder"));
  TransformerConfig expected = folder.model->config();
  expected.source.clear();
  expected.dropout = 0;
  each_layer(expected, [](nn::BlockConfig& b) { b.dropout = 0; });
  each_attention(expected, [](nn::MultiHeadAttentionConfig& a) { a.dropout = 0; });
  EXPECT_EQ(file.model->config(), expected);
  EXPECT_TRUE(file.unused.empty());
  EXPECT_TRUE(file.notices.empty());
  Context ctx({.threads = 2});
  const Batch batch = golden_batch(Golden(path), folder.model->config());
  expect_same_bits(file.model->logits(ctx, batch.source, batch.input),
                   folder.model->logits(ctx, batch.source, batch.input));
}
constexpr const char* kFamilies[] = {"t5", "t5_gated"};
INSTANTIATE_TEST_SUITE_P(All, GgufT5, ::testing::ValuesIn(headlight::testing::golden_folders(kFamilies)),
                         headlight::testing::golden_name);

TEST(GgufT5File, RefusesWhatMakesNoSense) {
  const TempFolder temp;
  const GgufWriter good = t5_file(headlight::testing::golden_folder("t5"));
  const auto refused = [&](const std::string& key, std::uint32_t value, const char* code, const char* words) {
    GgufWriter w = good;
    const std::string entry = headlight::testing::raw_text("t5." + key);
    const std::size_t at = w.values.find(entry);
    if (at == std::string::npos) w.number("t5." + key, value);
    else w.values.replace(at + entry.size() + 4, 4, headlight::testing::raw(value));
    std::ofstream(temp.path("m.gguf"), std::ios::binary) << w.text();
    expect_error([&] { (void)load_transformer(temp.path("m.gguf")); }, ErrorKind::input, code, words);
  };
  refused("decoder_start_token_id", 20, "gguf.token_id", "decoder_start_token_id is 20; need 0 to 19");
  refused("attention.relative_buckets_count", 0, "gguf.buckets", "relative_buckets_count is 0");
  refused("attention.relative_buckets_count", 9, "model.shape", "enc.blk.0.attn_rel_b.weight");
  refused("decoder_block_count", 0, "gguf.layers", "decoder_block_count is 0");
  refused("decoder_block_count", 1, "gguf.unused", "dec.blk.1.");
}

}  // namespace
}  // namespace headlight::models
