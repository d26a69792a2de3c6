// Descriptions layer by layer, from either kind of files, and fields that nobody understands.
#include <gtest/gtest.h>

#include "models/families.h"
#include "support/errors.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;

TransformerConfig read(const std::string& type, const std::string& more = "") {
  const std::string text = R"({"model_type": ")" + type + R"(", "vocab_size": 64, "hidden_size": 32,
    "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 64,
    "hidden_act": "silu")" +
                           more + "}";
  return read_config(io::Json::parse(text, "config.json"));
}

void expect_refused(const std::string& more, const std::string& words, const std::string& type = "llama") {
  expect_error([&] { (void)read(type, more); }, ErrorKind::input, "model.config", words);
}

TEST(ReadConfig, FieldsThatWouldChangeTheModelAreRefusedByNameAndValue) {
  EXPECT_NO_THROW((void)read("llama", R"(, "sliding_window": null, "logits_scaling": 1, "my_notes": "x")"));
  expect_refused(R"(, "logits_scaling": 8.5)",
                 "config.json: logits_scaling is 8.5: not supported for this family");
  expect_refused(R"(, "sliding_window": 16)", "sliding_window is 16");
  expect_refused(R"(, "attention_chunk_size": 8)", "attention_chunk_size is 8");
  expect_refused(R"(, "no_rope_layers": [1, 0])", "no_rope_layers is [1, 0]");
  expect_refused(R"(, "num_local_experts": 4)", "num_local_experts is 4: mixtures of experts");
  expect_refused(R"(, "qk_layernorm": true)", "qk_layernorm is true");
  expect_refused(R"(, "n_layer": 3)", "n_layer is 3: num_hidden_layers is 4, but both set the same option");
  EXPECT_EQ(read("mistral", R"(, "sliding_window": 16)").decoder[2].attention.visible.left, 15);
}

// Folders of models that also see say little of their text part.
TEST(ReadConfig, TextPartOfAModelThatSees) {
  const TransformerConfig c = read_config(io::Json::parse(R"({"model_type": "gemma3", "vision_config": {},
    "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
      "num_hidden_layers": 34, "sliding_window": 1024, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}})",
                                                          "config.json"));
  EXPECT_EQ(c.width, 2560);
  EXPECT_EQ(c.vocabulary, 262208);
  ASSERT_EQ(c.decoder.size(), 34U);
  EXPECT_EQ(c.decoder[0].attention.heads, 8);
  EXPECT_EQ(c.decoder[0].attention.kv_heads, 4);
  EXPECT_EQ(c.decoder[0].attention.head_dim, 256);
  EXPECT_EQ(c.decoder[0].attention.visible.left, 1023);
  EXPECT_EQ(c.decoder[5].attention.visible.left, Visibility::kUnbounded);
  EXPECT_EQ(c.decoder[5].attention.rope->theta, 1e6);
  EXPECT_EQ(c.decoder[5].attention.rope->scaling.factor, 8);
  EXPECT_EQ(c.decoder[0].attention.rope->scaling.kind, nn::RopeScaling::Kind::none);
}

TEST(ReadConfig, OptionsThatAreNotKnownAreRefusedByName) {
  expect_refused(R"(, "use_qk_norm": true, "layer_norm_eps": 1e-5)", "use_qk_norm is true", "cohere");
  expect_refused(R"(, "num_experts": 4, "num_experts_per_tok": 5, "moe_intermediate_size": 8)",
                 "num_experts_per_tok is 5: need 1 to 4", "qwen3_moe");
  expect_refused(
      R"(, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "mlp_only_layers": [9])",
      "there is no layer 9", "qwen3_moe");
  expect_refused(
      R"(, "num_local_experts": 4, "num_experts_per_tok": 2, "quantization_config": {"quant_method": "awq"})",
      "quant_method is \"awq\"; supported is mxfp4", "gpt_oss");
  expect_refused(R"(, "no_rope_layers": [1, 0])", "need a number for each layer", "smollm3");
  expect_refused(R"(, "logits_scaling": 0)", "logits cannot be divided", "granite");
  expect_refused(R"(, "layer_norm_eps": 1e-5, "qk_layernorm": true)", "qk_layernorm is true", "stablelm");
}

TEST(ReadConfig, EveryLayerHasItsOwnDescription) {
  const TransformerConfig c = read("gemma3_text", R"(, "sliding_window": 8, "sliding_window_pattern": 2,
    "rope_theta": 1e6, "rope_local_base_freq": 5000)");
  ASSERT_EQ(c.decoder.size(), 4U);
  for (std::size_t n = 0; n < 4; ++n) {
    const nn::MultiHeadAttentionConfig& a = c.decoder[n].attention;
    EXPECT_EQ(a.layer, static_cast<int>(n));
    EXPECT_EQ(a.visible.left, n % 2 == 0 ? 7 : Visibility::kUnbounded);
    EXPECT_EQ(a.rope->theta, n % 2 == 0 ? 5000 : 1e6);
    EXPECT_TRUE(a.head_norm.has_value());
    EXPECT_EQ(c.decoder[n].norm_place, nn::NormPlace::both);
  }
}

// A layer may differ from the others in anything; nobody assumes that all are as the first.
TEST(Layers, NeedNotBeAlike) {
  TransformerConfig c = llama_config({.vocabulary = 64, .width = 32, .layers = 3, .heads = 4, .context = 64});
  c.decoder[1].attention.rope.reset();  // a layer without positions
  c.decoder[1].attention.kv_heads = 2;
  c.decoder[2].feed_forward.inner = 40;
  c = completed(c);
  expect_error([&] { (void)write_config(c); }, ErrorKind::usage, "model.family",
               "cannot express all options");
  const Index inner = c.decoder[0].feed_forward.inner * 2 + 40;
  EXPECT_EQ(least_parameters(c), static_cast<double>(64 * 32 + 2 * 32 * 8 * (8 + 6 + 8) + 3 * 32 * inner));
}

TEST(Names, AreMappedToThoseOfTheFiles) {
  const auto name = [](const char* family, const char* parameter, Files files = Files::folder) {
    TransformerConfig c;
    c.family = family;
    return file_name(names_of(c, files), parameter);
  };
  EXPECT_EQ(name("llama", "decoder.12.attention.query.weight"), "model.layers.12.self_attn.q_proj.weight");
  EXPECT_EQ(name("llama", "decoder.12.attention.query.weight", Files::gguf), "blk.12.attn_q.weight");
  EXPECT_EQ(name("llama", "head.projection.weight"), "lm_head.weight");
  EXPECT_EQ(name("gemma2", "decoder.0.feed_forward_norm.weight"),
            "model.layers.0.pre_feedforward_layernorm.weight");
  EXPECT_EQ(name("phi", "head.bias"), "lm_head.bias");
  EXPECT_EQ(name("bert", "encoder.positions.weight"), "bert.embeddings.position_embeddings.weight");
  EXPECT_EQ(name("bert", "encoder.1.attention_norm.bias", Files::gguf), "blk.1.attn_output_norm.bias");
  EXPECT_EQ(name("t5", "encoder.3.feed_forward_norm.weight"), "encoder.block.3.layer.1.layer_norm.weight");
  EXPECT_EQ(name("t5", "decoder.3.feed_forward_norm.weight"), "decoder.block.3.layer.2.layer_norm.weight");
  EXPECT_EQ(name("t5", "decoder.final_norm.weight", Files::gguf), "dec.output_norm.weight");
  EXPECT_EQ(name("marian", "decoder.2.cross.out.bias"), "model.decoder.layers.2.encoder_attn.out_proj.bias");
  EXPECT_EQ(name("gpt2", "decoder.0.attention.query_norm.weight"), "");
}

}  // namespace
}  // namespace headlight::models
