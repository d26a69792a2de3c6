// Falcon's later layout (40B, 180B, 11B): heads in groups, with one norm or two. There is no such model at hand, so
// a small one is computed here by hand in float64, straight from the rows as the file has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include "io/outputs.h"
#include "models/load.h"
#include "models/verify.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using Vector = std::vector<double>;

constexpr Index kWidth = 12, kHeads = 6, kGroups = 2, kDim = 2, kEach = kHeads / kGroups, kInner = 20,
                kVocabulary = 9, kLayers = 2;
constexpr double kEps = 1e-5;

class FalconGroups : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    add("word_embeddings.weight", {kVocabulary, kWidth});
    add("ln_f.weight", {kWidth});
    add("ln_f.bias", {kWidth});
    for (Index n = 0; n < kLayers; ++n) {
      const std::string h = "h." + std::to_string(n) + ".";
      for (const std::string& norm : {first_norm(), second_norm()})
        for (const char* part : {".weight", ".bias"}) add(h + norm + part, {kWidth});
      add(h + "self_attention.query_key_value.weight", {kGroups * (kEach + 2) * kDim, kWidth});
      add(h + "self_attention.query_key_value.bias", {kGroups * (kEach + 2) * kDim});
      add(h + "self_attention.dense.weight", {kWidth, kHeads * kDim});
      add(h + "self_attention.dense.bias", {kWidth});
      add(h + "mlp.dense_h_to_4h.weight", {kInner, kWidth});
      add(h + "mlp.dense_h_to_4h.bias", {kInner});
      add(h + "mlp.dense_4h_to_h.weight", {kWidth, kInner});
      add(h + "mlp.dense_4h_to_h.bias", {kWidth});
    }
    write();
  }
  [[nodiscard]] static bool two_norms() { return GetParam() == 2; }
  [[nodiscard]] static std::string first_norm() { return two_norms() ? "ln_attn" : "input_layernorm"; }
  [[nodiscard]] static std::string second_norm() { return two_norms() ? "ln_mlp" : "input_layernorm"; }

  void add(const std::string& name, const Shape& shape) {
    if (weights_.contains(name)) return;
    Tensor tensor(shape);
    std::uniform_real_distribution<float> numbers(-0.6F, 0.6F);
    for (Index i = 0; i < shape.elements(); ++i) tensor.as<float>()[i] = numbers(random_);
    weights_.emplace(name, std::move(tensor));
  }
  void write(const std::string& more = "") const {
    std::vector<io::NamedTensor> list;
    for (const auto& [name, tensor] : weights_) list.push_back({"transformer." + name, tensor});
    io::Outputs outputs(io::Existing::replace);
    outputs.reserve(temp_.path("model.safetensors"));
    io::write_safetensors(outputs, temp_.path("model.safetensors"), list);
    const std::string norms = two_norms() ? "null" : "1";
    const std::string config = R"({"model_type": "falcon", "new_decoder_architecture": true, "vocab_size": 9,
      "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 6, "num_kv_heads": 2, "bias": true,
      "ffn_hidden_size": 20, "num_ln_in_parallel_attn": )" +
                               norms + more + "}";
    outputs.reserve(temp_.path("config.json"));
    outputs.write(temp_.path("config.json"), std::as_bytes(std::span(config)));
    outputs.commit();
  }

  // The same as GGUF's converters write it: all queries, all keys, all values; the second norm first.
  void write_gguf() const {
    headlight::testing::GgufWriter w;
    w.text("general.architecture", "falcon");
    const std::pair<const char*, Index> counts[] = {
        {"context_length", 64},   {"embedding_length", kWidth},     {"feed_forward_length", kInner},
        {"block_count", kLayers}, {"attention.head_count", kHeads}, {"attention.head_count_kv", kGroups}};
    for (const auto& [key, value] : counts)
      w.number(std::string("falcon.") + key, static_cast<std::uint32_t>(value));
    w.number("falcon.attention.layer_norm_epsilon", static_cast<float>(kEps));
    const std::pair<std::string, const char*> names[] = {{"word_embeddings", "token_embd"},
                                                         {"ln_f", "output_norm"},
                                                         {"self_attention.query_key_value", "attn_qkv"},
                                                         {"self_attention.dense", "attn_output"},
                                                         {"mlp.dense_h_to_4h", "ffn_up"},
                                                         {"mlp.dense_4h_to_h", "ffn_down"},
                                                         {"input_layernorm", "attn_norm"},
                                                         {"ln_mlp", "attn_norm"},
                                                         {"ln_attn", "attn_norm_2"},
                                                         {"h.", "blk."}};
    for (const auto& [hub, tensor] : weights_) {
      std::string own = hub;
      for (const auto& [from, to] : names)
        if (const std::size_t at = own.find(from); at != std::string::npos) own.replace(at, from.size(), to);
      w.tensor(own, hub.find("query_key_value") == std::string::npos ? tensor.clone() : ungrouped(tensor));
    }
    std::ofstream(temp_.path("m.gguf"), std::ios::binary) << w.text();
  }
  static Tensor ungrouped(const Tensor& rows) {
    Tensor result(rows.shape());
    const Index columns = rows.shape().elements() / rows.dim(0);
    Index to = 0;
    const auto append = [&](Index group, Index member) {
      const Index from = (group * (kEach + 2) + member) * kDim * columns, count = kDim * columns;
      std::copy_n(rows.as<float>() + from, count, result.as<float>() + to);
      to += count;
    };
    for (Index head = 0; head < kHeads; ++head) append(head / kEach, head % kEach);
    for (const Index member : {kEach, kEach + 1})
      for (Index group = 0; group < kGroups; ++group) append(group, member);
    return result;
  }

  // ---- By hand -----------------------------------------------------------------------------------------

  [[nodiscard]] double at(const std::string& name, Index i) const {
    return static_cast<double>(weights_.at(name).as<float>()[i]);
  }
  [[nodiscard]] Vector linear(const std::string& name, const Vector& x) const {
    const auto columns = static_cast<Index>(x.size());
    Vector y;
    for (Index r = 0; r < weights_.at(name + ".weight").dim(0); ++r) {
      double sum = at(name + ".bias", r);
      for (Index c = 0; c < columns; ++c)
        sum += at(name + ".weight", r * columns + c) * x[static_cast<std::size_t>(c)];
      y.push_back(sum);
    }
    return y;
  }
  [[nodiscard]] Vector norm(const std::string& name, const Vector& x) const {
    double mean = 0, square = 0;
    for (const double v : x) mean += v / kWidth;
    for (const double v : x) square += (v - mean) * (v - mean) / kWidth;
    Vector y;
    for (Index i = 0; i < kWidth; ++i)
      y.push_back((x[static_cast<std::size_t>(i)] - mean) / std::sqrt(square + kEps) *
                      at(name + ".weight", i) +
                  at(name + ".bias", i));
    return y;
  }
  // Two numbers from `first` on, turned by the token's place: of two dimensions there is one pair.
  static std::pair<double, double> turned(const Vector& row, Index first, std::size_t place) {
    const double a = row[static_cast<std::size_t>(first)], b = row[static_cast<std::size_t>(first + 1)];
    const double angle = static_cast<double>(place);
    return {a * std::cos(angle) - b * std::sin(angle), a * std::sin(angle) + b * std::cos(angle)};
  }
  [[nodiscard]] static Vector attend(const std::vector<Vector>& rows, std::size_t query) {
    Vector mixed;
    for (Index head = 0; head < kHeads; ++head) {
      const Index group = head / kEach * (kEach + 2) * kDim, key = group + kEach * kDim, value = key + kDim;
      const auto q = turned(rows[query], group + head % kEach * kDim, query);
      Vector weights;
      double sum = 0;
      for (std::size_t t = 0; t <= query; ++t) {
        const auto k = turned(rows[t], key, t);
        weights.push_back(std::exp((q.first * k.first + q.second * k.second) / std::sqrt(2.0)));
        sum += weights.back();
      }
      for (Index d = 0; d < kDim; ++d) {
        double z = 0;
        for (std::size_t t = 0; t <= query; ++t)
          z += weights[t] / sum * rows[t][static_cast<std::size_t>(value + d)];
        mixed.push_back(z);
      }
    }
    return mixed;
  }
  [[nodiscard]] std::vector<Vector> logits(const std::vector<std::int32_t>& ids) const {
    std::vector<Vector> stream;
    for (const std::int32_t id : ids) {
      stream.emplace_back();
      for (Index i = 0; i < kWidth; ++i)
        stream.back().push_back(at("word_embeddings.weight", id * kWidth + i));
    }
    for (Index n = 0; n < kLayers; ++n) {
      const std::string h = "h." + std::to_string(n) + ".";
      std::vector<Vector> rows;
      for (const Vector& x : stream)
        rows.push_back(linear(h + "self_attention.query_key_value", norm(h + first_norm(), x)));
      for (std::size_t t = 0; t < stream.size(); ++t) {
        Vector inner = linear(h + "mlp.dense_h_to_4h", norm(h + second_norm(), stream[t]));
        for (double& v : inner) v *= 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
        const Vector a = linear(h + "self_attention.dense", attend(rows, t)),
                     m = linear(h + "mlp.dense_4h_to_h", inner);
        for (std::size_t i = 0; i < a.size(); ++i) stream[t][i] += a[i] + m[i];
      }
    }
    std::vector<Vector> result;
    for (const Vector& x : stream) {
      const Vector last = norm("ln_f", x);
      result.emplace_back();
      for (Index v = 0; v < kVocabulary; ++v) {
        double sum = 0;
        for (Index i = 0; i < kWidth; ++i)
          sum += at("word_embeddings.weight", v * kWidth + i) * last[static_cast<std::size_t>(i)];
        result.back().push_back(sum);
      }
    }
    return result;
  }

  void expect_by_hand(const LoadedTransformer& loaded) const {
    EXPECT_TRUE(loaded.unused.empty());
    const std::vector<std::int32_t> ids = {3, 8, 0, 3, 5};
    const std::vector<Vector> expected = logits(ids);
    Tokens tokens;
    tokens.append(ids);
    Context ctx({.threads = 2});
    const Tensor found = loaded.model->logits(ctx, tokens);
    for (std::size_t t = 0; t < ids.size(); ++t)
      for (std::size_t v = 0; v < static_cast<std::size_t>(kVocabulary); ++v)
        EXPECT_NEAR(found.at(static_cast<Index>(t), static_cast<Index>(v)), expected[t][v], 2e-5);
  }

  headlight::testing::TempFolder temp_;
  std::map<std::string, Tensor> weights_;
  std::mt19937 random_{11};
};

TEST_P(FalconGroups, AsByHand) {
  for (const nn::Weights where : {nn::Weights::own, nn::Weights::stored}) {
    const LoadedTransformer loaded = load_transformer(temp_.root().string(), DType::f32, where);
    expect_by_hand(loaded);
    // Its rows are not in the file's order any more: nothing may be written with the file's own config.
    headlight::testing::expect_error([&] { (void)loaded.model->config_json(); }, ErrorKind::usage,
                                     "model.family", "cannot be written");
  }
  EXPECT_FALSE(verify(temp_.root().string()).refusal.has_value());
}

TEST_P(FalconGroups, InGguf) {
  write_gguf();
  expect_by_hand(load_transformer(temp_.path("m.gguf")));
}

TEST_P(FalconGroups, RefusesWhatIsNotKnown) {
  const auto refused = [&](const std::string& more, const char* words) {
    write(more);
    headlight::testing::expect_error([&] { (void)load_transformer(temp_.root().string()); }, ErrorKind::input,
                                     "model.config", words);
  };
  refused(R"(, "parallel_attn": false)", "supported only with parallel attention");
}

INSTANTIATE_TEST_SUITE_P(Norms, FalconGroups, ::testing::Values(1, 2),
                         [](const auto& norms) { return "Norms" + std::to_string(norms.param); });

}  // namespace
}  // namespace headlight::models
