// Every family against numbers of another implementation: logits, attention weights, hidden states, loss,
// gradients, and both spellings of config.json. tests/golden is computed in float64 (tools/make-golden); the larger set in
// float32, with the tolerances of its README.
#include "models/golden.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace headlight::models {
namespace {

using headlight::testing::golden_folders;
using headlight::testing::golden_name;

class GoldenModel : public ::testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder_ = GetParam();
};

class GoldenSpelling : public GoldenModel {};
class GoldenGradients : public GoldenModel {};
class GoldenSlopes : public GoldenModel {};
class GoldenDouble : public GoldenModel {};

struct Worst {
  double error = 0;
  std::string where;
  void take(double found, double wanted, const std::string& place) {
    const double e = std::abs(found - wanted);
    if (!(e <= error))
      error = e, where = place + ": " + std::to_string(found) + " for " + std::to_string(wanted);
  }
};

Tensor run(Context& ctx, const Transformer& model, const Golden& golden, Observer* observer = nullptr) {
  const Batch batch = golden_batch(golden, model.config());
  const RunOptions options{.observer = observer, .types = batch.type_ids};
  if (model.config().kind == ModelKind::encoder_decoder)
    return model.logits(ctx, batch.source, batch.input, options);
  return model.logits(ctx, batch.input, options);
}

double logits_error(const Golden& golden, const Transformer& model, const Tensor& logits) {
  const bool both = model.config().kind == ModelKind::encoder_decoder;
  const std::string mask = both ? "decoder_attention_mask" : "attention_mask";
  const Tensor &wanted = golden.at("logits"), &use = golden.at(mask);
  Worst worst;
  Index row = 0;
  for (Index b = 0; b < wanted.dim(0); ++b)
    for (Index t = 0; t < wanted.dim(1); ++t) {
      if (use.at(b, t) == 0) continue;
      for (Index v = 0; v < wanted.dim(2); ++v) worst.take(logits.at(row, v), wanted.at(b, t, v), "logit");
      ++row;
    }
  EXPECT_EQ(row, logits.dim(0));
  return worst.error;
}

// Compares what it is shown with the golden attentions and hidden states.
class Comparer : public Observer {
 public:
  Comparer(const Golden& golden, const TransformerConfig& config) : golden_(golden), config_(config) {}
  void on_attention(const AttentionEvent& event) override {
    const bool both = config_.kind == ModelKind::encoder_decoder;
    const std::string prefix = !both                         ? ""
                               : event.part == Part::encoder ? "encoder_"
                               : event.part == Part::cross   ? "cross_"
                                                             : "decoder_";
    const std::string name = prefix + "attentions." + std::to_string(event.layer);
    const std::string source = "attention_mask", target = both ? "decoder_attention_mask" : "attention_mask";
    const std::string& q_mask = event.part == Part::encoder ? source : target;
    const std::string& k_mask = event.part == Part::decoder ? target : source;
    const Tensor& wanted = golden_.at(name);
    for (Index b = 0; b < wanted.dim(0); ++b)
      for (Index h = 0; h < wanted.dim(1); ++h) {
        const Tensor weights = event.weights(b, h);
        for (Index i = 0; i < weights.dim(0); ++i)
          for (Index j = 0; j < weights.dim(1); ++j)
            attention.take(weights.at(i, j),
                           wanted.at(b, h, golden_.column(q_mask, b, i), golden_.column(k_mask, b, j)), name);
      }
    ++calls;
  }
  void on_residual(const ResidualEvent& event) override {
    const bool both = config_.kind == ModelKind::encoder_decoder;
    const std::string prefix = !both ? "" : event.part == Part::encoder ? "encoder_" : "decoder_";
    const bool last = !golden_.has(prefix + "hidden_states." + std::to_string(event.layer + 1));
    if (last && config_.final_norm) return;  // the golden one is after the final norm
    const std::string name = prefix + "hidden_states." + std::to_string(event.layer);
    const std::string mask =
        both && event.part == Part::decoder ? "decoder_attention_mask" : "attention_mask";
    const Tensor& wanted = golden_.at(name);
    for (std::size_t b = 0; b + 1 < event.starts.size(); ++b)
      for (Index t = event.starts[b]; t < event.starts[b + 1]; ++t)
        for (Index d = 0; d < wanted.dim(2); ++d) {
          const Index at = golden_.column(mask, static_cast<Index>(b), t - event.starts[b]);
          hidden.take(event.x.at(t, d), wanted.at(static_cast<Index>(b), at, d), name);
        }
  }
  Worst attention, hidden;
  int calls = 0;

 private:
  const Golden& golden_;
  const TransformerConfig& config_;
};

void expect_golden(const std::filesystem::path& folder, const std::filesystem::path& path) {
  const Golden golden(folder);
  const LoadedTransformer loaded = load_transformer(path.string());
  Context ctx({.threads = 2});
  Comparer comparer(golden, loaded.model->config());
  const Tensor logits = run(ctx, *loaded.model, golden, &comparer);
  EXPECT_LT(logits_error(golden, *loaded.model, logits), 1e-4);
  EXPECT_LT(comparer.attention.error, 1e-5) << comparer.attention.where;
  EXPECT_LT(comparer.hidden.error, 1e-4) << comparer.hidden.where;
  const TransformerConfig& c = loaded.model->config();
  EXPECT_EQ(comparer.calls,
            c.kind == ModelKind::encoder_decoder ? 2 * c.decoder.size() + c.encoder.size() : c.main().size());
}

TEST_P(GoldenModel, LogitsAttentionsAndHiddenStates) { expect_golden(folder_, folder_); }

// In float64 nothing is left of rounding but that of the stored numbers: what is wrong by a little shows too.
TEST_P(GoldenDouble, LogitsAttentionsAndHiddenStates) {
  const Golden golden(folder_);
  const LoadedTransformer loaded = load_transformer(folder_.string(), DType::f64);
  Context ctx({.threads = 2});
  Comparer comparer(golden, loaded.model->config());
  const Tensor logits = run(ctx, *loaded.model, golden, &comparer);
  EXPECT_LT(logits_error(golden, *loaded.model, logits), 1e-6);
  EXPECT_LT(comparer.attention.error, 1e-7) << comparer.attention.where;
  EXPECT_LT(comparer.hidden.error, 1e-6) << comparer.hidden.where;
}

// GGUF files that other programs wrote, of models of the larger set. tests/models/gguf_families_test.cc writes its own.
class GoldenGguf : public GoldenModel {};

TEST_P(GoldenGguf, LogitsAttentionsAndHiddenStates) {
  expect_golden(folder_, folder_.parent_path() / "gguf" / (folder_.filename().string() + "-f32.gguf"));
}
constexpr const char* kGgufFiles[] = {"gpt2", "llama", "qwen2_sharded", "qwen3"};
INSTANTIATE_TEST_SUITE_P(All, GoldenGguf,
                         ::testing::ValuesIn(headlight::testing::larger_golden_folders(kGgufFiles)),
                         golden_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenGguf);

TEST_P(GoldenSpelling, OlderConfig) {
  const Golden golden(folder_);
  Transformer model(read_config(io::Json::read((folder_ / "config.v4.json").string())));
  const SafetensorsWeights files{io::Folder(folder_.string())};
  const ExpertSlices weights(files);
  (void)load_parameters(weights, plan_parameters(weights, model.parameters(), &names_of(model.config())));
  Context ctx({.threads = 1});
  EXPECT_LT(logits_error(golden, model, run(ctx, model, golden)), 1e-4);
}

// The model with the gradients of the golden loss.
LoadedTransformer learnt(const std::filesystem::path& folder, DType dtype) {
  const Golden golden(folder);
  LoadedTransformer loaded = load_transformer(folder.string(), dtype, nn::Weights::own);
  Context ctx({.threads = 2});
  const Batch batch = golden_batch(golden, loaded.model->config());
  Index counted = 0;
  for (const std::int32_t target : batch.targets) counted += target != kIgnored ? 1 : 0;
  const Loss loss = loaded.model->learn(ctx, batch, {.scale = 1.0 / static_cast<double>(counted)});
  const double wanted_loss = io::Json::read((folder / "meta.json").string()).real("loss");
  EXPECT_NEAR(loss.mean(), wanted_loss, 2e-5 * std::max(1.0, wanted_loss));
  EXPECT_EQ(loss.targets, counted);
  return loaded;
}

// How fast the loss grows when element i of a parameter grows at the rate cos(1 + 0.7·i), by central differences in
// float64: one number for each parameter, with every element of its gradient in it.
TEST_P(GoldenSlopes, LossAndGradients) {
  const LoadedTransformer loaded = learnt(folder_, DType::f32);
  const io::Json meta = io::Json::read((folder_ / "meta.json").string());
  const io::Json& slopes = meta.object("slopes");
  struct Sums {
    double slope = 0, size = 0;
  };
  std::map<std::string, Sums> found;
  std::size_t fixed = 0;  // what is not trained
  for (Parameter* parameter : loaded.model->parameters()) {
    std::string name = file_name(names_of(loaded.model->config()), parameter->name);
    if (!parameter->trained) {
      fixed += slopes.find(name) != nullptr ? 1 : 0;
      continue;
    }
    Index first = 0;  // files may have the parameters of all experts in one tensor
    const ConstTensorView grad(parameter->grad.as<float>(), {parameter->grad.shape().elements()});
    if (const std::size_t at = name.find('['); at != std::string::npos) {
      first = std::stol(name.substr(at + 1)) * grad.dim(0);
      name.resize(at);
    }
    for (Index i = 0; i < grad.dim(0); ++i) {
      found[name].slope += grad.at(i) * std::cos(1 + 0.7 * static_cast<double>(first + i));
      found[name].size += grad.at(i) * grad.at(i);
    }
  }
  for (const auto& [name, sums] : found) {
    ASSERT_NE(slopes.find(name), nullptr) << name;
    EXPECT_NEAR(sums.slope, slopes.real(name), 2e-5 * std::max(0.1, std::sqrt(sums.size)))
        << name << ", gradient of length " << std::sqrt(sums.size);
  }
  EXPECT_EQ(found.size(), slopes.keys().size() - fixed);
}

TEST_P(GoldenGradients, LossAndGradients) {
  const LoadedTransformer loaded = learnt(folder_, DType::f32);
  const auto wanted = headlight::testing::read_safetensors(folder_ / "grads.safetensors");
  std::size_t found = 0;
  for (Parameter* parameter : loaded.model->parameters()) {
    if (!parameter->trained) continue;
    const auto entry = wanted.find(loaded.model->file_name(*parameter));
    ASSERT_NE(entry, wanted.end()) << parameter->name;
    ++found;
    const Tensor& truth = entry->second;
    ASSERT_EQ(truth.shape(), parameter->grad.shape()) << parameter->name;
    // Relative to the tensor's largest gradient: elements near zero are sums that cancel, and a key's bias
    // changes nothing at all.
    double largest = 1e-2;
    Worst worst;
    for (Index i = 0; i < truth.shape().elements(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(truth.as<float>()[i])));
      worst.take(static_cast<double>(parameter->grad.as<float>()[i]),
                 static_cast<double>(truth.as<float>()[i]), parameter->name);
    }
    EXPECT_LT(worst.error, 1e-4 * largest) << worst.where << ", largest " << largest;
  }
  EXPECT_EQ(found, wanted.size());
}

// Those of tests/golden alone: the larger set has no such numbers.
std::vector<std::string> own_folders(std::span<const char* const> names) {
  std::vector<std::string> folders;
  for (const char* name : names) folders.push_back(headlight::testing::golden_folder(name).string());
  return folders;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenModel, ::testing::ValuesIn(golden_folders(kGoldenFamilies)), golden_name);
INSTANTIATE_TEST_SUITE_P(All, GoldenDouble, ::testing::ValuesIn(own_folders(kGoldenFamilies)), golden_name);
INSTANTIATE_TEST_SUITE_P(All, GoldenSpelling, ::testing::ValuesIn(golden_folders(kGoldenSpellings)),
                         golden_name);
INSTANTIATE_TEST_SUITE_P(All, GoldenSlopes, ::testing::ValuesIn(own_folders(kGoldenGradients)), golden_name);
INSTANTIATE_TEST_SUITE_P(All, GoldenGradients,
                         ::testing::ValuesIn(headlight::testing::larger_golden_folders(kGoldenGradients)),
                         golden_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenGradients);

}  // namespace
}  // namespace headlight::models
