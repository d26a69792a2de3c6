// LoRA in whole models: gradients, files in PEFT's form, merged and unmerged, and everything else left alone.
#include "models/adapter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "headlight/error.h"
#include "io/outputs.h"
#include "models/convert.h"
#include "models/golden.h"
#include "models/load.h"
#include "support/central_difference.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::fill;
using headlight::testing::TempFolder;

std::string golden_folder(const std::string& name) {
  return testing::source_folder() + "/tests/golden/" + name;
}

AdapterConfig small_adapter() { return {.rank = 2, .alpha = 3, .base = "the base"}; }

std::unique_ptr<AdaptedTransformer> adapted(const std::string& family, DType dtype,
                                            const AdapterConfig& config = small_adapter()) {
  auto model = load_transformer(golden_folder(family), dtype, nn::Weights::own).model;
  auto result = std::make_unique<AdaptedTransformer>(std::move(model), config, 7);
  return result;
}

void save(AdaptedTransformer& model, const std::string& folder) {
  std::ofstream(folder + "/" + kAdapterConfig) << model.config_json();
  std::vector<io::NamedTensor> tensors;
  for (const Parameter* parameter : model.parameters())
    tensors.push_back({model.file_name(*parameter), parameter->value});
  io::Outputs outputs(io::Existing::replace);
  const std::string path = folder + "/" + kAdapterWeights;
  outputs.reserve(path);
  io::write_safetensors(outputs, path, tensors);
  outputs.commit();
}

Tensor logits_of(const Transformer& model, const Golden& golden) {
  Context ctx({.threads = 1});
  const Batch batch = golden_batch(golden, model.config());
  if (model.config().kind == ModelKind::encoder_decoder) return model.logits(ctx, batch.source, batch.input);
  return model.logits(ctx, batch.input, {.types = batch.type_ids});
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0;
  for (Index i = 0; i < a.shape().elements(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a.as<float>()[i]) - b.as<float>()[i]));
  return largest;
}

// Above logits of 10, where f32 itself is that coarse, sixteen roundings of the largest.
double bound(const Tensor& logits) {
  double largest = 0;
  for (Index i = 0; i < logits.shape().elements(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(logits.as<float>()[i])));
  return std::max(1e-5, 16 * 0x1p-24 * largest);
}

class AdapterGradients : public ::testing::TestWithParam<const char*> {};

TEST_P(AdapterGradients, MatchDifferences) {
  const auto model = adapted(GetParam(), DType::f64);
  const Parameters parameters = model->parameters();
  fill(parameters, 11, 0.1);
  Context ctx({.threads = 1});
  const Golden golden(golden_folder(GetParam()));
  const Batch batch = golden_batch(golden, model->base().config());
  const double scale = 0.1;
  (void)model->learn(ctx, batch, {.scale = scale});
  // One element of every matrix: the whole would take minutes.
  double worst = 0;
  for (Parameter* p : parameters) {
    ASSERT_FALSE(p->grad.empty()) << p->name;
    double& x = p->value.as<double>()[p->value.shape().elements() / 2];
    const double before = x, h = 1e-5;
    x = before + h;
    const double up = model->evaluate(ctx, batch).sum * scale;
    x = before - h;
    const double down = model->evaluate(ctx, batch).sum * scale;
    x = before;
    const double wanted = (up - down) / (2 * h),
                 found = p->grad.as<double>()[p->value.shape().elements() / 2];
    worst = std::max(worst, std::abs(wanted - found) / (1 + std::abs(wanted)));
  }
  EXPECT_LT(worst, 1e-7);
  for (const Parameter* p : const_cast<Transformer&>(model->base()).parameters())
    EXPECT_TRUE(p->trained || p->grad.empty()) << p->name;
}

INSTANTIATE_TEST_SUITE_P(All, AdapterGradients,
                         ::testing::Values("gpt2", "llama", "gemma3", "phi3", "bloom", "bert", "t5_gated",
                                           "marian", "bart"),
                         [](const auto& row) { return std::string(row.param); });

// Every family that can have an adapter: saved, loaded beside stored matrices, and merged into new files.
class AdapterFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(AdapterFiles, SavedLoadedAndMergedAreOneModel) {
  const TempFolder folder;
  const auto model = adapted(GetParam(), DType::f32);
  const Golden golden(golden_folder(GetParam()));
  const Tensor plain = logits_of(model->base(), golden);
  const Tensor same = logits_of(*load_transformer(golden_folder(GetParam())).model, golden);
  EXPECT_LT(largest_difference(plain, same), 1e-5);  // a new adapter adds nothing
  fill(model->parameters(), 3, 0.05);
  const Tensor expected = logits_of(model->base(), golden);
  EXPECT_GT(largest_difference(expected, plain), 1e-4);
  save(*model, folder.path(""));
  EXPECT_TRUE(is_adapter(folder.path("")));
  const OpenedModel beside = open_model(golden_folder(GetParam()), {.adapter = folder.path("")});
  EXPECT_LT(largest_difference(logits_of(*beside.transformer, golden), expected), bound(expected));
  const Converted done = convert_folder(golden_folder(GetParam()), folder.path("merged"),
                                        {.type = StoredAs::f32, .adapter = folder.path("")});
  EXPECT_EQ(done.merged * 2, static_cast<std::int64_t>(model->parameters().size()));
  const auto merged = load_transformer(folder.path("merged")).model;
  EXPECT_LT(largest_difference(logits_of(*merged, golden), expected), bound(expected));
  auto own = load_transformer(ModelFiles(golden_folder(GetParam())), model->base().config(),
                              {.weights = nn::Weights::own, .adapter = folder.path("")})
                 .model;
  Context ctx({.threads = 1});
  merge_adapters(ctx, *own);
  EXPECT_LT(largest_difference(logits_of(*own, golden), expected), bound(expected));
}

INSTANTIATE_TEST_SUITE_P(All, AdapterFiles,
                         ::testing::Values("gpt2", "gpt2_hub_layout", "llama", "qwen2_sharded", "gemma2",
                                           "phi3", "bloom", "opt", "gpt_neox", "bert", "roberta", "t5",
                                           "marian", "bart"),
                         [](const auto& row) { return std::string(row.param); });

TEST(Adapter, NamesAreThoseOfPeft) {
  const auto gpt = adapted("gpt2", DType::f32);
  EXPECT_EQ(gpt->file_name(*gpt->parameters()[0]),
            "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight");
  EXPECT_EQ(gpt->file_name(*gpt->parameters()[1]),
            "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight");
  const io::Json json = io::Json::parse(gpt->config_json(), "adapter");
  EXPECT_EQ(json.text("peft_type"), "LORA");
  EXPECT_EQ(json.integer("r"), 2);
  EXPECT_EQ(json.real("lora_alpha"), 3);
  EXPECT_TRUE(json.boolean("fan_in_fan_out"));
  EXPECT_EQ(json.list("target_modules").items().size(), 4U);
  EXPECT_EQ(json.list("target_modules").items()[0].text(), "attn.c_attn");
  const auto llama =
      adapted("llama", DType::f32, {.rank = 1, .alpha = 1, .targets = {"q_proj", "feed_forward.down"}});
  EXPECT_EQ(llama->file_name(*llama->parameters()[2]),
            "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight");
  EXPECT_FALSE(io::Json::parse(llama->config_json(), "adapter").boolean("fan_in_fan_out"));
}

TEST(Adapter, RefusesWhatDoesNotFit) {
  expect_error([] { (void)adapted("llama", DType::f32, {.rank = 1, .alpha = 1, .targets = {"q_prok"}}); },
               ErrorKind::usage, "adapter.targets", "\"q_prok\" is not a module of this model");
  expect_error([] { (void)adapted("falcon_groups", DType::f32); }, ErrorKind::usage, "adapter.rows",
               "falcon");
  const TempFolder folder;
  const auto model = adapted("llama", DType::f32);
  save(*model, folder.path(""));
  expect_error([&] { (void)open_model(golden_folder("gpt2"), {.adapter = folder.path("")}); },
               ErrorKind::input, "adapter.module", "model.layers.0.self_attn.q_proj");
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& words) {
    std::string text = model->config_json();
    text.replace(text.find(from), from.size(), to);
    std::ofstream(folder.path(kAdapterConfig)) << text;
    expect_error([&] { (void)AdapterFile(folder.path("")); }, ErrorKind::input, "adapter.form", words);
  };
  refused("LORA", "IA3", "only \"LORA\" is supported");
  refused("\"r\": 2", "\"r\": 3", "does not have rank 3");
  refused("\"use_dora\": false", "\"use_dora\": true", "use_dora is true");
  refused("\"bias\": \"none\"", "\"bias\": \"all\"", "bias is \"all\"");
}

}  // namespace
}  // namespace headlight::models
