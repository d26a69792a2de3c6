// Opening a model in one pass: what was found, why something was not, which tensors have no place, where texts end.
#include <gtest/gtest.h>

#include <bit>

#include "models/families.h"
#include "models/generate.h"
#include "models/golden.h"
#include "models/small_folder.h"
#include "support/errors.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;

// A SentencePiece model of four pieces, byte by byte.
std::string sentence_piece() {
  std::string file;
  for (const std::string piece : {"<unk>", "<s>", "</s>", "a"}) {
    std::string entry = "\x0a" + std::string(1, static_cast<char>(piece.size())) + piece + "\x15" +
                        std::string(4, '\0') + "\x18" +
                        (piece == "<unk>" ? "\x02"
                         : piece == "a"   ? "\x01"
                                          : "\x03");
    file += "\x0a" + std::string(1, static_cast<char>(entry.size())) + entry;
  }
  return file + std::string("\x12\x02\x18\x02");
}

TEST(OpenModel, ALoneSentencePieceModelIsTheTokenizer) {
  SmallFolder folder;
  folder.write_all();
  EXPECT_NE(open_model(folder.path()).no_tokenizer.find("no tokenizer in this folder"), std::string::npos);
  folder.write_text("sentencepiece.bpe.model", sentence_piece());
  const OpenedModel opened = open_model(folder.path());
  ASSERT_TRUE(opened.tokenizer.has_value()) << opened.no_tokenizer;
  EXPECT_EQ(opened.tokenizer->size(), 4);
  folder.write_text("other.model", sentence_piece());
  EXPECT_NE(open_model(folder.path()).no_tokenizer.find("other.model and sentencepiece.bpe.model"),
            std::string::npos);
}

TEST(OpenModel, ARefusedTokenizerDoesNotBlockIds) {
  SmallFolder folder;
  folder.write_all();
  folder.write_text("tokenizer.json", R"({"model": {"type": "Telepathy"}})");
  const OpenedModel opened = open_model(folder.path());
  EXPECT_TRUE(opened.transformer != nullptr);
  EXPECT_FALSE(opened.tokenizer.has_value());
  ASSERT_FALSE(opened.notices.empty());
  EXPECT_NE(opened.notices[0].find("Telepathy"), std::string::npos) << opened.notices[0];
  EXPECT_NE(opened.notices[0].find("token ids can"), std::string::npos) << opened.notices[0];
}

TEST(OpenModel, ALoneVocabJsonIsNoTokenizer) {
  SmallFolder folder;
  folder.write_all();
  folder.write_text("vocab.json", R"({"a": 0})");
  const OpenedModel opened = open_model(folder.path());
  EXPECT_TRUE(opened.transformer != nullptr);
  EXPECT_FALSE(opened.tokenizer.has_value());
  EXPECT_NE(opened.no_tokenizer.find("has vocab.json without merges.txt"), std::string::npos)
      << opened.no_tokenizer;
  folder.write_text("merges.txt", "#version: 0.2\n");
  EXPECT_TRUE(open_model(folder.path()).tokenizer.has_value());
}

TEST(OpenModel, ATensorWithoutAPlaceIsRefused) {
  SmallFolder folder;
  const Tensor more({8}), mask({1, 1, 4, 4});
  folder.tensors.push_back({"transformer.h.0.attn.bias", mask});
  folder.tensors.push_back({"lm_head.weight", folder.model.embedding().weight.value});
  folder.write_all();
  EXPECT_EQ(folder.load().unused, (std::vector<std::string>{"lm_head.weight", "transformer.h.0.attn.bias"}));
  folder.tensors.push_back({"transformer.h.0.attn.q_norm.weight", more});
  folder.write_all();
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.unused",
               "tensor \"transformer.h.0.attn.q_norm.weight\" is not used by this architecture");
}

// What a file of another layer would be called is no buffer.
TEST(OpenModel, ALayerTooManyIsRefused) {
  SmallFolder folder;
  const Tensor more({8});
  folder.tensors.push_back({"transformer.h.1.ln_1.weight", more});
  folder.write_all();
  expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.unused", "transformer.h.1.ln_1.weight");
}

TEST(OpenModel, AllEndTokensCount) {
  SmallFolder folder;
  folder.write_all();
  std::string config = folder.model.config_json();
  const std::string none = "\"eos_token_id\": null";
  config.replace(config.find(none), none.size(), "\"eos_token_id\": [9, 4]");
  folder.write_text("config.json", config);
  folder.write_text("generation_config.json", R"({"eos_token_id": [4, 6]})");
  folder.write_text("sentencepiece.bpe.model", sentence_piece());
  folder.write_text("tokenizer_config.json", R"({"eos_token": {"content": "</s>"}})");
  const OpenedModel opened = open_model(folder.path());
  EXPECT_EQ(opened.transformer->config().ends, (std::vector<std::int32_t>{9, 4, 6, 2}));
  folder.write_text("generation_config.json", R"({"eos_token_id": "x"})");
  expect_error([&] { (void)open_model(folder.path()); }, ErrorKind::input, "json.kind",
               "generation_config.json");
}

// Whichever of its ends a model writes, the text ends there.
TEST(OpenModel, AnyEndEndsAText) {
  Context ctx({.threads = 1});
  TransformerConfig c = gpt_config({.vocabulary = 11, .width = 8, .layers = 1, .heads = 2, .context = 32});
  c.initial_range = 0.5;
  Transformer free(c);
  free.initialize(3);
  Tokens prompt;
  prompt.append(std::vector<std::int32_t>{1, 2});
  const auto all = generate(ctx, free, prompt, {.most = 8, .temperature = 2, .seed = 5}).at(0);
  ASSERT_EQ(all.size(), 8U);
  c.ends = {all[6], all[3]};
  Transformer ends(c);
  ends.initialize(3);
  const auto written = generate(ctx, ends, prompt, {.most = 8, .temperature = 2, .seed = 5}).at(0);
  const auto first = std::find_if(all.begin(), all.end(), [&](std::int32_t t) { return c.is_end(t); });
  EXPECT_EQ(written, std::vector<std::int32_t>(all.begin(), first));
}

constexpr const char* kQwen = R"({"model_type": "qwen2", "vocab_size": 256, "hidden_size": 32,
  "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 64,
  "hidden_act": "silu", "use_sliding_window": true, "sliding_window": 6, "max_window_layers": 1})";

std::vector<Index> windows_of(const TransformerConfig& c) {
  std::vector<Index> windows;
  const Transformer model(c);
  for (const nn::Block& block : model.stack(Part::decoder).blocks)
    windows.push_back(block.config().attention.visible.left + 1);
  return windows;
}

TEST(ReadConfig, WindowsOfQwenWithoutLayerTypes) {
  const std::vector<Index> windows = windows_of(read_config(io::Json::parse(kQwen, "config.json")));
  EXPECT_EQ(windows, (std::vector<Index>{Visibility::kUnbounded + 1, 6, 6}));
  std::string off = kQwen;
  off.replace(off.find("true"), 4, "false");
  EXPECT_EQ(windows_of(read_config(io::Json::parse(off, "config.json"))),
            std::vector<Index>(3, Visibility::kUnbounded + 1));
}

TEST(ReadConfig, WindowsOfQwenAreThoseOfTheReference) {
  const std::filesystem::path from = headlight::testing::golden_folder("qwen2_window");
  const headlight::testing::TempFolder temp;
  std::filesystem::copy(from / "config.v4.json", temp.path("config.json"));
  std::filesystem::copy(from / "model.safetensors", temp.path("model.safetensors"));
  const Golden golden(from);
  const LoadedTransformer loaded = load_transformer(temp.root().string());
  Context ctx({.threads = 1});
  const Tensor logits = loaded.model->logits(ctx, golden.tokens("input_ids", "attention_mask"));
  const Tensor& wanted = golden.at("logits");
  Index row = 0;
  for (Index b = 0; b < wanted.dim(0); ++b)
    for (Index t = 0; t < wanted.dim(1); ++t) {
      if (golden.at("attention_mask").at(b, t) == 0) continue;
      for (Index v = 0; v < wanted.dim(2); ++v)
        ASSERT_NEAR(logits.at(row, v), wanted.at(b, t, v), 1e-4) << b << " " << t;
      ++row;
    }
}

}  // namespace
}  // namespace headlight::models
