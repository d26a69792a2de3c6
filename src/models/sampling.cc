// Which token comes next: the rules of SamplingOptions, one after the other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/concat.h"
#include "core/random.h"
#include "headlight/error.h"
#include "models/generate.h"

namespace headlight::models {
namespace {

// Above 0 and below 1, from (seed, item, place) alone.
double draw(std::uint64_t seed, Index item, Index place) {
  const PhiloxCounter w =
      philox({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(item), 0, 0x44524157U},
             static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  const std::uint64_t bits = (static_cast<std::uint64_t>(w[0]) << 32 | w[1]) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

// Once for each token, however often it was seen.
void penalize(std::vector<float>& logits, std::span<const std::int32_t> seen, double penalty) {
  std::vector<bool> done(logits.size(), false);
  for (const std::int32_t token : seen) {
    const auto at = static_cast<std::size_t>(token);
    if (token < 0 || at >= logits.size() || done[at]) continue;
    done[at] = true;
    const auto factor = static_cast<float>(penalty);
    logits[at] = logits[at] > 0 ? logits[at] / factor : logits[at] * factor;
  }
}

// Tokens by falling logit, of equal ones the lower number first, with weights in proportion to their chances.
struct Ranking {
  std::vector<std::int32_t> tokens;
  std::vector<double> weights;
  double sum = 0;

  Ranking(const std::vector<float>& z, const SamplingOptions& options) : tokens(z.size()) {
    std::iota(tokens.begin(), tokens.end(), 0);
    const auto logit = [&](std::int32_t token) { return z[static_cast<std::size_t>(token)]; };
    const auto better = [&](std::int32_t a, std::int32_t b) {
      return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
    };
    const auto n = static_cast<Index>(z.size());
    const Index kept = options.top_k > 0 ? std::min(options.top_k, n) : n;
    std::partial_sort(tokens.begin(), tokens.begin() + kept, tokens.end(), better);
    tokens.resize(static_cast<std::size_t>(kept));
    for (const std::int32_t token : tokens) {
      const double above = static_cast<double>(logit(token)) - static_cast<double>(logit(tokens[0]));
      weights.push_back(std::exp(above / options.temperature));
      sum += weights.back();
    }
  }
  void keep(std::size_t count) {
    tokens.resize(count);
    weights.resize(count);
    sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  // The fewest that have a share of `top_p` together.
  void keep_share(double top_p) {
    double together = 0;
    std::size_t count = 0;
    while (count < weights.size() && together < top_p * sum) together += weights[count++];
    keep(std::max<std::size_t>(count, 1));
  }
  // Those at least `min_p` times as likely as the first.
  void keep_likely(double min_p) {
    const auto end = std::find_if(weights.begin(), weights.end(), [&](double w) { return w < min_p; });
    keep(std::max<std::size_t>(static_cast<std::size_t>(end - weights.begin()), 1));
  }
};

}  // namespace

std::string_view name_of(Ending ending) noexcept {
  constexpr std::string_view kNames[] = {"length", "end", "context", "stop"};
  return kNames[static_cast<std::size_t>(ending)];
}

void check(const SamplingOptions& o) {
  const auto refuse = [](const char* name, double found, const char* need) {
    throw Error(ErrorKind::usage, "model.sampling",
                concat("sampling: ", name, " is ", found, "; need ", need));
  };
  if (!(o.temperature >= 0) || !std::isfinite(o.temperature))
    refuse("temperature", o.temperature, "0 or more");
  if (o.top_k < 0) refuse("top_k", static_cast<double>(o.top_k), "0 (all) or more");
  if (!(o.top_p > 0 && o.top_p <= 1)) refuse("top_p", o.top_p, "above 0 up to 1");
  if (!(o.min_p >= 0 && o.min_p <= 1)) refuse("min_p", o.min_p, "0 to 1");
  if (!(o.repetition_penalty > 0) || !std::isfinite(o.repetition_penalty))
    refuse("repetition penalty", o.repetition_penalty, "above 0 (1: none)");
}

std::int32_t choose_token(ConstTensorView logits, const SamplingOptions& options, Index item, Index place,
                          std::span<const std::int32_t> seen) {
  check(options);
  std::vector<float> z(logits.as<float>(), logits.as<float>() + logits.dim(0));
  // What is no number is never chosen.
  std::replace_if(
      z.begin(), z.end(), [](float x) { return std::isnan(x); }, -INFINITY);
  if (options.repetition_penalty != 1) penalize(z, seen, options.repetition_penalty);
  const auto likeliest = std::max_element(z.begin(), z.end());
  if (likeliest == z.end() || !std::isfinite(*likeliest)) {
    throw Error(ErrorKind::numeric, "model.logits",
                "the model's logits are no numbers, so no token can be chosen\n"
                "The model's files may be damaged, or its training has failed.");
  }
  if (options.temperature == 0) return static_cast<std::int32_t>(likeliest - z.begin());
  Ranking ranking(z, options);
  if (options.top_p < 1) ranking.keep_share(options.top_p);
  if (options.min_p > 0) ranking.keep_likely(options.min_p);
  double left = draw(options.seed, item, place) * ranking.sum;
  for (std::size_t i = 0; i + 1 < ranking.tokens.size(); ++i) {
    left -= ranking.weights[i];
    if (left < 0) return ranking.tokens[i];
  }
  return ranking.tokens.back();
}

}  // namespace headlight::models
