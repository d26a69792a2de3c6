// Models in quantised .gguf files: matrices stay where the file is mapped, logits are those of the dequantised weights, and
// what convert_gguf() writes is read back.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "models/convert_gguf.h"
#include "models/golden.h"
#include "models/load.h"
#include "models/random_model.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::GgufWriter;
using headlight::testing::raw;
using headlight::testing::TempFolder;

constexpr Index kWidth = 256, kVocabulary = 64;

// A Llama of two layers in f32: names and metadata as llama.cpp writes them, numbers like a real one's.
std::string write_llama(const std::string& path) {
  GgufWriter w;
  w.text("general.architecture", "llama").number("general.file_type", 0U);
  w.number("llama.context_length", 64U)
      .number("llama.embedding_length", 256U)
      .number("llama.block_count", 2U);
  w.number("llama.feed_forward_length", 256U).number("llama.attention.head_count", 4U);
  w.number("llama.attention.head_count_kv", 2U).number("llama.rope.dimension_count", 64U);
  w.number("llama.attention.layer_norm_rms_epsilon", 1e-5F).number("llama.vocab_size", 64U);
  unsigned seed = 1;
  const auto add = [&](const std::string& name, Index rows, Index columns) {
    Tensor values(rows == 0 ? Shape{columns} : Shape{rows, columns});
    for (Index i = 0; i < values.shape().elements(); ++i) {
      seed = seed * 1664525U + 1013904223U;
      values.as<float>()[i] = rows == 0 ? 1 : (static_cast<float>(seed >> 8) * 0x1p-24F - 0.5F) * 0.2F;
    }
    w.tensor(name, values);
  };
  add("token_embd.weight", kVocabulary, kWidth);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    add(layer + "attn_norm.weight", 0, kWidth);
    add(layer + "attn_q.weight", kWidth, kWidth);
    add(layer + "attn_k.weight", 128, kWidth);
    add(layer + "attn_v.weight", 128, kWidth);
    add(layer + "attn_output.weight", kWidth, kWidth);
    add(layer + "ffn_norm.weight", 0, kWidth);
    for (const std::string name : {"ffn_gate", "ffn_up", "ffn_down"})
      add(layer + name + ".weight", kWidth, kWidth);
  }
  add("output_norm.weight", 0, kWidth);
  add("output.weight", kVocabulary, kWidth);
  std::ofstream(path, std::ios::binary) << w.text();
  return path;
}

Tensor logits_of(const std::string& path, Activations activations = Activations::exact) {
  const LoadedTransformer loaded = load_transformer(path);
  Tokens tokens;
  tokens.append(
      std::vector<std::int32_t>{1, 5, 9, 60, 3});  // so few that they are multiplied like a decoding step
  Context ctx({.threads = 2, .activations = activations});
  return loaded.model->logits(ctx, tokens);
}

double difference(const Tensor& a, const Tensor& b) {
  double sum = 0, norm = 0;
  for (Index i = 0; i < a.shape().elements(); ++i) {
    const auto x = static_cast<double>(a.as<float>()[i]), y = static_cast<double>(b.as<float>()[i]);
    sum += (x - y) * (x - y), norm += x * x;
  }
  return std::sqrt(sum / norm);
}

TEST(QuantisedModels, AreConvertedMappedAndRun) {
  const TempFolder temp;
  const std::string from = write_llama(temp.path("f32.gguf"));
  const Tensor exact = logits_of(from);
  Context ctx({.threads = 2});
  const struct {
    StoredType type;
    double of_matrix, of_logits, of_activations;
  } cases[] = {{StoredType::bf16, 0.003, 0.01, 1e-4},
               {StoredType::q8_0, 0.006, 0.02, 1e-4},
               {StoredType::q6_k, 0.02, 0.06, 0.02},
               {StoredType::q4_k, 0.08, 0.2, 0.02}};
  for (const auto& c : cases) {
    const std::string to = temp.path("to.gguf");
    const ConvertedGguf done = convert_gguf(ctx, from, {to, c.type, true});
    EXPECT_EQ(done.tensors, 21);
    EXPECT_EQ(done.matrices.size(), 16U);
    for (const ConvertedMatrix& m : done.matrices) {
      EXPECT_LT(m.relative_error, c.of_matrix) << m.name;
      EXPECT_GT(m.relative_error, 0) << m.name;
    }
    const LoadedTransformer loaded = load_transformer(to);
    std::size_t bytes = 0;
    for (const Parameter* parameter : loaded.model->parameters()) {
      if (parameter->stored.empty()) continue;
      EXPECT_EQ(parameter->stored.type(), c.type) << parameter->name;
      bytes += parameter->stored.bytes();
    }
    EXPECT_EQ(static_cast<std::int64_t>(bytes) + 4 * 256 * 5, done.bytes_after);
    const Tensor found = logits_of(to), rounded = logits_of(to, Activations::rounded);
    EXPECT_LT(difference(exact, found), c.of_logits) << name_of(c.type);
    EXPECT_LT(difference(found, rounded), c.of_activations) << name_of(c.type);
  }
}

TEST(QuantisedModels, RowsThatAreNotWholeBlocks) {
  const TempFolder temp;
  GgufWriter w;
  Tensor a({16, 96}), b({16, 40});
  for (Index i = 0; i < 16 * 96; ++i) a.as<float>()[i] = std::sin(static_cast<float>(i));
  w.text("general.architecture", "none").tensor("a", a).tensor("b", b);
  std::ofstream(temp.path("x.gguf"), std::ios::binary) << w.text();
  Context ctx({.threads = 1});
  const ConvertedGguf done = convert_gguf(ctx, temp.path("x.gguf"), {temp.path("y.gguf"), StoredType::q4_k});
  ASSERT_EQ(done.matrices.size(), 2U);
  EXPECT_EQ(done.matrices[0].after, "Q8_0");
  EXPECT_EQ(done.matrices[1].after, "F16");
  expect_error(
      [&] {
        (void)convert_gguf(ctx, temp.path("x.gguf"), {temp.path("y.gguf"), StoredType::q4_k});
      },
      ErrorKind::file, "file.exists", "exists already");
  a.as<float>()[5] = NAN;
  GgufWriter bad;
  bad.tensor("a", a);
  std::ofstream(temp.path("nan.gguf"), std::ios::binary) << bad.text();
  expect_error(
      [&] {
        (void)convert_gguf(ctx, temp.path("nan.gguf"), {temp.path("z.gguf"), StoredType::q8_0});
      },
      ErrorKind::numeric, "convert.range", "tensor \"a\" holds nan");
}

// ---- Files of llama-quantize --------------------------------------------------------------------------

class QuantisedGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(QuantisedGolden, Logits) {
  const auto folder = *headlight::testing::shared_data() / "golden2/gguf";
  const auto golden = headlight::testing::read_safetensors(folder / "logits.safetensors");
  const std::string name = GetParam();
  const Tensor &wanted = golden.at("logits." + name), &ids = golden.at("input_ids");
  const LoadedTransformer loaded = load_transformer((folder / (name + ".gguf")).string());
  std::vector<std::int32_t> row;
  for (Index t = 0; t < ids.dim(1); ++t) row.push_back(static_cast<std::int32_t>(ids.at(0, t)));
  Tokens tokens;
  tokens.append(row);
  Context exact({.threads = 2}), rounded({.threads = 2, .activations = Activations::rounded});
  const auto compare = [&](const Tensor& found, double most, double mean) {
    double worst = 0, sum = 0;
    for (Index t = 0; t < found.dim(0); ++t)
      for (Index v = 0; v < found.dim(1); ++v) {
        const double d = std::abs(found.at(t, v) - wanted.at(0, t, v));
        worst = std::max(worst, d), sum += d;
      }
    EXPECT_LT(worst, most) << name;
    EXPECT_LT(sum / static_cast<double>(found.shape().elements()), mean) << name;
  };
  compare(loaded.model->logits(exact, tokens), 1e-3, 1e-4);
  // Token by token, with 8 bits for activations: no worse than llama.cpp, which has 0.03 to 0.05, and 0.5 at most.
  Decoding decoding = loaded.model->start(rounded, 1);
  Tensor steps({wanted.dim(1), wanted.dim(2)});
  for (Index t = 0; t < wanted.dim(1); ++t) {
    Tokens one;
    one.append(std::vector<std::int32_t>{row[static_cast<std::size_t>(t)]});
    const Tensor next = loaded.model->next(rounded, decoding, one);
    std::copy_n(next.as<float>(), wanted.dim(2), steps.as<float>() + t * wanted.dim(2));
  }
  compare(steps, 0.5, 0.05);
}

std::vector<const char*> golden_files() {
  const auto shared = headlight::testing::shared_data();
  if (!shared || !std::filesystem::exists(*shared / "golden2/gguf/logits.safetensors")) return {};
  return {"llama-Q2_K",   "llama-Q3_K_M", "llama-Q4_0", "llama-IQ4_XS",
          "llama-Q4_K_M", "llama-Q5_K_M", "llama-Q6_K"};
}
INSTANTIATE_TEST_SUITE_P(All, QuantisedGolden, ::testing::ValuesIn(golden_files()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QuantisedGolden);

}  // namespace
}  // namespace headlight::models
