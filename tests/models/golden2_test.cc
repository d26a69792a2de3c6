// Families and options of the second larger set, as another implementation computed them: logits, attentions, gradients,
// router logits, both spellings of the config, greedy continuations. Where the set is absent the tests do not exist;
// tests/golden proves the same kinds of layers anywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "models/generate.h"
#include "models/golden.h"

namespace headlight::models {
namespace {

std::vector<std::string> folders(const std::function<bool(const std::filesystem::path&)>& wanted) {
  std::vector<std::string> list;
  const auto shared = headlight::testing::shared_data();
  if (!shared || !std::filesystem::is_directory(*shared / "golden2")) return list;
  for (const auto& entry : std::filesystem::directory_iterator(*shared / "golden2"))
    if (std::filesystem::exists(entry.path() / "config.json") && wanted(entry.path()))
      list.push_back(entry.path().string());
  std::sort(list.begin(), list.end());
  return list;
}

std::string name_of_folder(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).filename().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Golden2 : public ::testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder_ = GetParam();
};
class Golden2Gradients : public Golden2 {};
class Golden2Spelling : public Golden2 {};
class Golden2Greedy : public Golden2 {};

struct Worst {
  double error = 0;
  std::string where;
  void take(double found, double wanted, const std::string& place) {
    const double e = std::abs(found - wanted);
    if (!(e <= error))
      error = e, where = place + ": " + std::to_string(found) + " for " + std::to_string(wanted);
  }
};

class Comparer : public Observer {
 public:
  Comparer(const Golden& golden, const TransformerConfig& config, std::string prefix = "")
      : golden_(golden), config_(config), prefix_(std::move(prefix)) {}
  void on_attention(const AttentionEvent& event) override {
    const bool both = config_.kind == ModelKind::encoder_decoder;
    const std::string part = !both                         ? ""
                             : event.part == Part::encoder ? "encoder_"
                             : event.part == Part::cross   ? "cross_"
                                                           : "decoder_";
    const std::string name = prefix_ + part + "attentions." + std::to_string(event.layer);
    const Tensor& wanted = golden_.at(name);
    for (Index b = 0; b < wanted.dim(0); ++b)
      for (Index h = 0; h < wanted.dim(1); ++h) {
        const Tensor weights = event.weights(b, h);
        for (Index i = 0; i < weights.dim(0); ++i)
          for (Index j = 0; j < weights.dim(1); ++j)
            attention.take(weights.at(i, j),
                           wanted.at(b, h, column(event.part != Part::encoder, b, i),
                                     column(event.part == Part::decoder, b, j)),
                           name);
      }
    ++calls;
  }
  void on_experts(const ExpertsEvent& event) override {
    const std::string name = "router_logits." + std::to_string(event.layer);
    const Tensor& wanted = golden_.at(name);
    Index row = 0;
    for (std::size_t b = 0; b + 1 < event.starts.size(); ++b)
      for (Index t = 0; t < event.starts[b + 1] - event.starts[b]; ++t, ++row) {
        for (Index e = 0; e < wanted.dim(2); ++e)
          router.take(event.logits.at(row, e), wanted.at(static_cast<Index>(b), t, e), name);
        double before = INFINITY;
        for (Index i = 0; i < event.used; ++i) {
          const auto at = static_cast<std::size_t>(row * event.used + i);
          EXPECT_LT(event.experts[at], wanted.dim(2));
          EXPECT_GT(event.weights[at], 0);
          before = std::min(before, event.weights[at]);
        }
      }
    ++routers;
  }
  Worst attention, router;
  std::size_t calls = 0, routers = 0;

 private:
  [[nodiscard]] Index column(bool target, Index b, Index n) const {
    if (!prefix_.empty()) return n;
    const bool both = config_.kind == ModelKind::encoder_decoder;
    if (config_.sound && !target) return n;  // sound is never padded
    return golden_.column(both && target ? "decoder_attention_mask" : "attention_mask", b, n);
  }
  const Golden& golden_;
  const TransformerConfig& config_;
  std::string prefix_;
};

TEST_P(Golden2, LogitsAttentionsAndRouters) {
  const Golden golden(folder_);
  const LoadedTransformer loaded = load_transformer(folder_.string());
  const TransformerConfig& c = loaded.model->config();
  Context ctx({.threads = 2});
  Comparer comparer(golden, c);
  const Batch batch = golden_batch(golden, c);
  const RunOptions options{.observer = &comparer, .types = batch.type_ids};
  const bool both = c.kind == ModelKind::encoder_decoder;
  const Tensor logits = both ? loaded.model->logits(ctx, batch.source, batch.input, options)
                             : loaded.model->logits(ctx, batch.input, options);
  const Tensor &wanted = golden.at("logits"),
               &use = golden.at(both ? "decoder_attention_mask" : "attention_mask");
  Worst worst;
  Index row = 0;
  for (Index b = 0; b < wanted.dim(0); ++b)
    for (Index t = 0; t < wanted.dim(1); ++t) {
      if (use.at(b, t) == 0) continue;
      for (Index v = 0; v < wanted.dim(2); ++v) worst.take(logits.at(row, v), wanted.at(b, t, v), "logit");
      ++row;
    }
  EXPECT_EQ(row, logits.dim(0));
  EXPECT_LT(worst.error, 1e-4) << worst.where;
  EXPECT_LT(comparer.attention.error, 1e-5) << comparer.attention.where;
  EXPECT_LT(comparer.router.error, 1e-4) << comparer.router.where;
  EXPECT_EQ(comparer.calls, both ? 2 * c.decoder.size() + c.encoder.size() : c.main().size());
  std::size_t routers = 0;
  for (const nn::BlockConfig& block : c.main()) routers += block.experts ? 1 : 0;
  EXPECT_EQ(comparer.routers, routers);
}

TEST_P(Golden2Spelling, BothConfigsSayTheSame) {
  TransformerConfig now = read_config(io::Json::read((folder_ / "config.json").string()));
  TransformerConfig then = read_config(io::Json::read((folder_ / "config.v4.json").string()));
  EXPECT_EQ(now, then);
}

TEST_P(Golden2Gradients, LossAndGradients) {
  const Golden golden(folder_);
  LoadedTransformer loaded = load_transformer(folder_.string(), DType::f32, nn::Weights::own);
  Context ctx({.threads = 2});
  const Batch batch = golden_batch(golden, loaded.model->config());
  if (!why_not_trained(loaded.model->config()).empty()) {
    EXPECT_THROW((void)loaded.model->learn(ctx, batch, {.scale = 1}), Error);
    return;
  }
  Index counted = 0;
  for (const std::int32_t target : batch.targets) counted += target != kIgnored ? 1 : 0;
  const Loss loss = loaded.model->learn(ctx, batch, {.scale = 1.0 / static_cast<double>(counted)});
  const double wanted_loss = io::Json::read((folder_ / "meta.json").string()).real("loss");
  EXPECT_NEAR(loss.mean(), wanted_loss, 2e-5 * std::max(1.0, wanted_loss));
  const auto wanted = headlight::testing::read_safetensors(folder_ / "grads.safetensors");
  std::set<std::string> found;
  for (Parameter* parameter : loaded.model->parameters()) {
    if (!parameter->trained) continue;
    std::string name = file_name(names_of(loaded.model->config()), parameter->name);
    Index slice = 0;
    if (name.ends_with(']')) {  // a part of a tensor that has all experts
      const std::size_t at = name.find('[');
      slice = std::stol(name.substr(at + 1));
      name.resize(at);
    }
    const auto entry = wanted.find(name);
    ASSERT_NE(entry, wanted.end()) << name;
    found.insert(name);
    const Index count = parameter->grad.shape().elements();
    ASSERT_EQ(entry->second.shape().elements() % count, 0) << name;
    double largest = 1e-2;
    Worst worst;
    for (Index i = 0; i < count; ++i) {
      const auto truth = static_cast<double>(entry->second.as<float>()[slice * count + i]);
      largest = std::max(largest, std::abs(truth));
      worst.take(static_cast<double>(parameter->grad.as<float>()[i]), truth, parameter->name);
    }
    EXPECT_LT(worst.error, 1e-4 * largest) << worst.where << ", largest " << largest;
  }
  EXPECT_EQ(found.size(), wanted.size());
}

TEST_P(Golden2Greedy, ContinuesToken) {
  const Golden golden(folder_);
  const LoadedTransformer loaded = load_transformer(folder_.string());
  Context ctx({.threads = 2});
  for (const std::string set : {"greedy", "greedy_cross"}) {
    if (!golden.has(set + ".prompt_ids")) continue;
    const Tensor &prompt = golden.at(set + ".prompt_ids"), &wanted = golden.at(set + ".output_ids");
    std::vector<std::int32_t> ids;
    for (Index t = 0; t < prompt.dim(1); ++t)
      ids.push_back(static_cast<std::int32_t>(prompt.at(Index{0}, t)));
    Decoding decoding = loaded.model->start(ctx, 1);
    Tokens next;
    next.append(ids);
    for (Index t = prompt.dim(1); t < wanted.dim(1); ++t) {
      const Tensor logits = loaded.model->next(ctx, decoding, next);
      std::int32_t best = 0;
      for (Index v = 1; v < logits.dim(1); ++v)
        if (logits.at(Index{0}, v) > logits.at(Index{0}, static_cast<Index>(best)))
          best = static_cast<std::int32_t>(v);
      ASSERT_EQ(best, static_cast<std::int32_t>(wanted.at(Index{0}, t))) << set << ", token " << t;
      next = {};
      next.append(std::vector<std::int32_t>{best});
    }
  }
}

// Texts longer than those that a model was trained on turn in another way, from their first token on.
class Golden2Long : public Golden2 {};
TEST_P(Golden2Long, LogitsAndAttentions) {
  const Golden golden(folder_);
  const LoadedTransformer loaded = load_transformer(folder_.string());
  Context ctx({.threads = 2});
  Tokens tokens;
  std::vector<std::int32_t> ids;
  const Tensor &input = golden.at("long.input_ids"), &wanted = golden.at("long.logits");
  for (Index t = 0; t < input.dim(1); ++t) ids.push_back(static_cast<std::int32_t>(input.at(Index{0}, t)));
  tokens.append(ids);
  Comparer comparer(golden, loaded.model->config(), "long.");
  const Tensor logits = loaded.model->logits(ctx, tokens, {.observer = &comparer});
  Worst worst;
  for (Index t = 0; t < logits.dim(0); ++t)
    for (Index v = 0; v < logits.dim(1); ++v) worst.take(logits.at(t, v), wanted.at(Index{0}, t, v), "logit");
  EXPECT_LT(worst.error, 1e-4) << worst.where;
  EXPECT_LT(comparer.attention.error, 1e-5) << comparer.attention.where;
}

bool has_file(const std::filesystem::path& folder, const char* name) {
  return std::filesystem::exists(folder / name);
}
const auto kAny = [](const std::filesystem::path&) { return true; };
const auto kSpelled = [](const std::filesystem::path& f) { return has_file(f, "config.v4.json"); };
const auto kLearned = [](const std::filesystem::path& f) { return has_file(f, "grads.safetensors"); };
const auto kLong = [](const std::filesystem::path& f) { return f.filename() == "phi3_longrope"; };
const auto kWritten = [](const std::filesystem::path& f) {
  return headlight::testing::read_safetensors(f / "golden.safetensors").count("greedy.prompt_ids") > 0;
};

INSTANTIATE_TEST_SUITE_P(All, Golden2, ::testing::ValuesIn(folders(kAny)), name_of_folder);
INSTANTIATE_TEST_SUITE_P(All, Golden2Spelling, ::testing::ValuesIn(folders(kSpelled)), name_of_folder);
INSTANTIATE_TEST_SUITE_P(All, Golden2Gradients, ::testing::ValuesIn(folders(kLearned)), name_of_folder);
INSTANTIATE_TEST_SUITE_P(All, Golden2Greedy, ::testing::ValuesIn(folders(kWritten)), name_of_folder);
INSTANTIATE_TEST_SUITE_P(All, Golden2Long, ::testing::ValuesIn(folders(kLong)), name_of_folder);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Golden2);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Golden2Spelling);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Golden2Gradients);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Golden2Greedy);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Golden2Long);

}  // namespace
}  // namespace headlight::models
