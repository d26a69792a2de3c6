// Phi 3's long rotations: the golden model with factors of our own, its first layer's weights against a computation by
// hand in float64 from queries and keys that were turned in the plain way; and texts that grow beyond the original context
// token by token, whose keys are all turned anew.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "models/golden.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;
using headlight::testing::TempFolder;

constexpr Index kDim = 4, kOriginal = 8,
                kTokens = 8;  // the golden model has 4 heads of 4, 2 of them for keys
constexpr double kFactors[] = {1.5, 0.75};

std::string factors(double times = 1, std::size_t count = std::size(kFactors)) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i > 0 ? ", " : "") + std::to_string(kFactors[i] * times);
  return "[" + list + "]";
}

// The golden folder with this for its rotations; "" for its own.
struct Folder {
  explicit Folder(const std::string& rope) {
    const std::filesystem::path path = headlight::testing::golden_folder("phi3");
    std::filesystem::copy_file(path / "model.safetensors", temp.path("model.safetensors"));
    std::ifstream in(path / "config.json");
    std::string config{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!rope.empty()) {
      const std::size_t begin = config.find("\"rope_parameters\""), end = config.find('}', begin) + 1;
      config.replace(begin, end - begin, rope);
      const std::string original = "\"original_max_position_embeddings\": 64";
      config.replace(config.find(original), original.size(), "\"original_max_position_embeddings\": 8");
    }
    std::ofstream(temp.path("config.json")) << config;
  }
  [[nodiscard]] LoadedTransformer load() const { return load_transformer(temp.root().string()); }
  TempFolder temp;
};

class FirstLayer : public Observer {
 public:
  void on_attention(const AttentionEvent& event) override {
    if (event.layer != 0) return;
    for (Index h = 0; h < event.q.dim(1); ++h) weights.push_back(event.weights(0, h));
    q.assign(static_cast<std::size_t>(event.q.dim(1)), {});
    k.assign(static_cast<std::size_t>(event.k.dim(1)), {});
    for (Index t = 0; t < kTokens; ++t)
      for (Index d = 0; d < kDim; ++d) {
        for (std::size_t h = 0; h < q.size(); ++h) q[h].push_back(event.q.at(0, static_cast<Index>(h), t, d));
        for (std::size_t h = 0; h < k.size(); ++h) k[h].push_back(event.k.at(0, static_cast<Index>(h), t, d));
      }
  }
  std::vector<Tensor> weights;
  std::vector<std::vector<double>> q, k;  // of each head: tokens times dimensions
};

FirstLayer run(const Transformer& model) {
  Tokens tokens;
  tokens.append(std::vector<std::int32_t>{5, 17, 3, 14, 5, 19, 11, 7});
  FirstLayer seen;
  Context ctx({.threads = 2});
  (void)model.logits(ctx, tokens, {.observer = &seen});
  return seen;
}

// Turned back from the plain angle of token t to none, and on to the long one.
std::vector<double> turned_anew(const std::vector<double>& head, double factor) {
  std::vector<double> result(head.size());
  for (std::size_t t = 0; t < static_cast<std::size_t>(kTokens); ++t)
    for (std::size_t j = 0; j < kDim / 2; ++j) {
      const double plain = std::pow(10000.0, -2.0 * static_cast<double>(j) / kDim);
      const double angle = static_cast<double>(t) * (plain / kFactors[j] - plain);
      const double a = head[t * kDim + j], b = head[t * kDim + j + kDim / 2];
      result[t * kDim + j] = factor * (a * std::cos(angle) - b * std::sin(angle));
      result[t * kDim + j + kDim / 2] = factor * (a * std::sin(angle) + b * std::cos(angle));
    }
  return result;
}

TEST(LongRope, ShortFactorsAsByHand) {
  const FirstLayer plain = run(*Folder("").load().model);
  const double factor = std::sqrt(1 + std::log(64.0 / 8) / std::log(8.0));  // of 64 positions from 8
  for (const char* type : {"\"rope_type\": \"longrope\"", "\"type\": \"su\""}) {
    const Folder folder("\"rope_parameters\": {" + std::string(type) + ", \"short_factor\": " + factors() +
                        ", \"long_factor\": " + factors(7) + "}");
    const LoadedTransformer loaded = folder.load();
    const FirstLayer found = run(*loaded.model);
    ASSERT_EQ(found.weights.size(), plain.q.size());
    for (std::size_t h = 0; h < plain.q.size(); ++h) {
      const std::vector<double> q = turned_anew(plain.q[h], factor),
                                k = turned_anew(plain.k[h / (plain.q.size() / plain.k.size())], factor);
      for (std::size_t i = 0; i < static_cast<std::size_t>(kTokens); ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          double score = 0;
          for (std::size_t d = 0; d < kDim; ++d) score += q[i * kDim + d] * k[j * kDim + d];
          weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kDim))));
          sum += weights.back();
        }
        for (std::size_t j = 0; j <= i; ++j)
          EXPECT_NEAR(found.weights[h].at(static_cast<Index>(i), static_cast<Index>(j)), weights[j] / sum,
                      2e-5)
              << "head " << h << ", query " << i << ", key " << j;
      }
    }
  }
}

TEST(LongRope, OddFactorsAreRefused) {
  const auto with = [](const std::string& small, const std::string& large, const std::string& more = "") {
    return Folder("\"rope_parameters\": {\"rope_type\": \"longrope\", \"short_factor\": " + small +
                  ", \"long_factor\": " + large + more + "}");
  };
  const auto refused = [](const Folder& folder, const char* words) {
    expect_error([&] { (void)folder.load(); }, ErrorKind::input, "model.config", words);
  };
  refused(with(factors(1, 1), factors(7, 1)), "1 factors for 2 pairs");
  refused(with(factors(), factors(7, 1)), "1 factors; short_factor has 2");
  refused(with(factors(-1), factors()), "cannot be divided by -1");
  refused(with(factors(), factors(), ", \"attention_factor\": -2"), "an attention_factor of -2");
  refused(with(factors(), factors(), ", \"partial_rotary_factor\": 0.5"), "2 factors for 1 pairs");
}

// Each token's logits are those of a run over the whole text, before, at and after the length where all keys change.
TEST(LongRope, TextsGrowAcrossTheSwitch) {
  const LoadedTransformer loaded = load_transformer(headlight::testing::golden_folder("phi3_long").string());
  const std::vector<std::int32_t> ids = {3, 9, 4, 17, 5, 11, 8, 6, 12};  // the original context has 5
  Context ctx({.threads = 2});
  Decoding decoding = loaded.model->start(ctx, 2);
  for (std::size_t n = 0; n < ids.size(); ++n) {
    Tokens next, whole;
    const std::vector<std::int32_t> other(ids.rbegin(), ids.rend());
    next.append(std::vector<std::int32_t>{ids[n]});
    next.append(std::vector<std::int32_t>{other[n]});
    const Tensor found = loaded.model->next(ctx, decoding, next);
    whole.append(std::vector<std::int32_t>(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n) + 1));
    whole.append(
        std::vector<std::int32_t>(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(n) + 1));
    const Tensor wanted = loaded.model->logits(ctx, whole);
    for (Index s = 0; s < 2; ++s)
      for (Index v = 0; v < found.dim(1); ++v)
        ASSERT_NEAR(found.at(s, v), wanted.at(whole.starts[static_cast<std::size_t>(s + 1)] - 1, v), 1e-5)
            << n + 1 << " tokens";
  }
}

}  // namespace
}  // namespace headlight::models
