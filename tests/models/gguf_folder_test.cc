// A .gguf file written as a folder computes the same model, and cuts texts the same way.
#include "models/gguf_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "models/convert.h"
#include "models/load.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::GgufWriter;
using headlight::testing::TempFolder;

constexpr Index kVocabulary = 300, kWidth = 32;

// Random parameters, so that rows in a wrong order show.
Tensor random(const Shape& shape) {
  static std::mt19937 numbers(5);
  std::normal_distribution<float> normal(0, 0.3F);
  Tensor x(shape);
  for (Index i = 0; i < shape.elements(); ++i)
    x.as<float>()[i] = (shape.rank == 1 ? 1.0F : 0.0F) + normal(numbers);
  return x;
}

std::string small_gguf(const std::string& architecture) {
  GgufWriter w;
  const auto count = [&](const std::string& key, std::uint32_t value) {
    w.number(architecture + "." + key, value);
  };
  w.text("general.architecture", architecture);
  count("context_length", 32), count("embedding_length", kWidth), count("block_count", 2);
  const bool gpt2 = architecture == "gpt2";
  count("feed_forward_length", 48), count("attention.head_count", 4);
  count("attention.head_count_kv", gpt2 ? 4 : 2);
  w.number(architecture + (gpt2 ? ".attention.layer_norm_epsilon" : ".attention.layer_norm_rms_epsilon"),
           1e-5F);
  if (architecture == "granite") {
    w.number("granite.attention.scale", 0.25F).number("granite.residual_scale", 0.5F);
    w.number("granite.embedding_scale", 2.0F).number("granite.logit_scale", 4.0F);
  }
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<float> scores(kVocabulary, -100);
  std::vector<std::int32_t> types(kVocabulary, 1);
  types[0] = 2, types[1] = types[2] = 3;
  for (int byte = 0; byte < 256; ++byte) {
    std::string name = "<0x00>";
    name[3] = "0123456789ABCDEF"[byte / 16], name[4] = "0123456789ABCDEF"[byte % 16];
    types[tokens.size()] = 6;
    tokens.push_back(name);
  }
  for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
  for (const char* piece : {"▁", "▁t", "he", "▁the", "at", "▁c", "▁cat"}) {
    scores[tokens.size()] = -static_cast<float>(tokens.size() - 280);
    tokens.emplace_back(piece);
  }
  while (tokens.size() < kVocabulary) tokens.push_back("<extra" + std::to_string(tokens.size()) + ">");
  w.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", tokens);
  w.list("tokenizer.ggml.scores", scores).list("tokenizer.ggml.token_type", types);
  w.number<std::uint32_t>("tokenizer.ggml.bos_token_id", 1)
      .number<std::uint32_t>("tokenizer.ggml.eos_token_id", 2);
  w.number<std::uint32_t>("tokenizer.ggml.unknown_token_id", 0);
  w.text("tokenizer.chat_template", "{{ bos_token }}{{ messages[0].content }}");
  const auto tensor = [&](const std::string& name, const Shape& shape) { w.tensor(name, random(shape)); };
  tensor("token_embd.weight", {kVocabulary, kWidth}), tensor("output_norm.weight", {kWidth});
  tensor("output.weight", {kVocabulary, kWidth});
  if (gpt2) {
    const auto both = [&](const std::string& name, const Shape& shape) {
      tensor(name + ".weight", shape), tensor(name + ".bias", {shape[0]});
    };
    tensor("position_embd.weight", {32, kWidth}), tensor("output_norm.bias", {kWidth});
    for (const std::string layer : {"blk.0.", "blk.1."}) {
      both(layer + "attn_norm", {kWidth}), both(layer + "ffn_norm", {kWidth});
      both(layer + "attn_qkv", {3 * kWidth, kWidth}), both(layer + "attn_output", {kWidth, kWidth});
      both(layer + "ffn_up", {48, kWidth}), both(layer + "ffn_down", {kWidth, 48});
    }
    return w.text();
  }
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    if (architecture == "qwen2")
      tensor(layer + "attn_q.bias", {kWidth}), tensor(layer + "attn_k.bias", {16}),
          tensor(layer + "attn_v.bias", {16});
    if (architecture == "qwen3")
      tensor(layer + "attn_q_norm.weight", {8}), tensor(layer + "attn_k_norm.weight", {8});
    if (architecture == "olmo2") {
      tensor(layer + "attn_q_norm.weight", {kWidth}), tensor(layer + "attn_k_norm.weight", {16});
      tensor(layer + "post_attention_norm.weight", {kWidth}),
          tensor(layer + "post_ffw_norm.weight", {kWidth});
    }
    if (architecture != "olmo2")
      tensor(layer + "attn_norm.weight", {kWidth}), tensor(layer + "ffn_norm.weight", {kWidth});
    tensor(layer + "attn_q.weight", {kWidth, kWidth}), tensor(layer + "attn_k.weight", {16, kWidth});
    tensor(layer + "attn_v.weight", {16, kWidth}), tensor(layer + "attn_output.weight", {kWidth, kWidth});
    tensor(layer + "ffn_gate.weight", {48, kWidth}), tensor(layer + "ffn_up.weight", {48, kWidth});
    tensor(layer + "ffn_down.weight", {kWidth, 48});
  }
  return w.text();
}

double difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (Index i = 0; i < a.shape().elements(); ++i)
    worst = std::max(worst,
                     std::abs(static_cast<double>(a.as<float>()[i]) - static_cast<double>(b.as<float>()[i])));
  return worst;
}

TEST(GgufFolder, ComputesTheSameModel) {
  for (const std::string architecture : {"llama", "qwen2", "qwen3", "olmo2", "granite", "gpt2"}) {
    const TempFolder temp;
    const std::string from = temp.path("m.gguf"), to = temp.path("folder");
    std::ofstream(from, std::ios::binary) << small_gguf(architecture);
    const Converted done = convert_to_folder(from, to, {.type = StoredAs::f32});
    EXPECT_EQ(done.relative_error, 0);
    EXPECT_EQ(done.copied, (std::vector<std::string>{"config.json", "tokenizer.model",
                                                     "tokenizer_config.json", "chat_template.jinja"}));
    const OpenedModel before = open_model(from), after = open_model(to);
    EXPECT_EQ(after.transformer->config().family, architecture);
    const auto& rope = after.transformer->config().decoder[0].attention.rope;
    EXPECT_EQ(rope.has_value(), architecture != "gpt2");
    EXPECT_FALSE(rope && rope->interleaved);
    Context ctx({.threads = 1});
    Tokens tokens;
    tokens.append(std::vector<std::int32_t>{5, 290, 7, 270, 299, 0, 3});
    EXPECT_LT(difference(before.transformer->logits(ctx, tokens), after.transformer->logits(ctx, tokens)),
              1e-5)
        << architecture;
    ASSERT_TRUE(before.tokenizer && after.tokenizer);
    for (const char* text : {"the cat", " that  hat é", "", "act<s>"})
      EXPECT_EQ(before.tokenizer->encode(text, SpecialTokens::leave_out),
                after.tokenizer->encode(text, SpecialTokens::leave_out))
          << text;
  }
}

TEST(GgufFolder, Refuses) {
  const TempFolder temp;
  std::ofstream(temp.path("gemma.gguf"), std::ios::binary) << small_gguf("gemma");
  expect_error([&] { (void)convert_to_folder(temp.path("gemma.gguf"), temp.path("new"), {}); },
               ErrorKind::usage, "convert.folder", "cannot be written as a folder");
  std::ofstream(temp.path("m.gguf"), std::ios::binary) << small_gguf("llama");
  std::filesystem::create_directory(temp.path("folder"));
  expect_error([&] { (void)convert_to_folder(temp.path("m.gguf"), temp.path("folder"), {}); },
               ErrorKind::file, "convert.folder", "exists already");
  expect_error(
      [&] {
        (void)convert_to_folder(temp.path("m.gguf"), temp.path("new"), {.adapter = temp.path("adapter")});
      },
      ErrorKind::usage, "convert.adapter", "this model is a .gguf file");
  EXPECT_FALSE(std::filesystem::exists(temp.path("new")));
}

}  // namespace
}  // namespace headlight::models
