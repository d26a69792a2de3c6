// Which token comes next: the rules of SamplingOptions, one after the other.
#include <algorithm>
#include <cmath>

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

// Once per token, however often it occurs.
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

struct Candidate {
  std::int32_t token = 0;
  double weight = 0;  // its probability, relative to the most likely token
};

// Ties: the lower id first.
bool likelier(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

double sum_of(const std::vector<Candidate>& list) {
  double sum = 0;
  for (const Candidate& c : list) sum += c.weight;
  return sum;
}

void keep_likeliest(std::vector<Candidate>& list, Index top_k) {
  if (top_k == 0 || top_k >= static_cast<Index>(list.size())) return;
  std::partial_sort(list.begin(), list.begin() + top_k, list.end(), likelier);
  list.resize(static_cast<std::size_t>(top_k));
}

// The smallest set whose probabilities sum to `top_p`. It is usually small: no need to sort all.
void keep_share(std::vector<Candidate>& list, double top_p) {
  if (top_p >= 1) return;
  const double wanted = top_p * sum_of(list);
  double together = 0;
  for (std::size_t begin = 0, size = 64; begin < list.size(); size *= 4) {
    const std::size_t end = std::min(list.size(), begin + size);
    std::partial_sort(list.begin() + static_cast<Index>(begin), list.begin() + static_cast<Index>(end),
                      list.end(), likelier);
    for (; begin < end; ++begin) {
      together += list[begin].weight;
      if (together < wanted) continue;
      list.resize(begin + 1);
      return;
    }
  }
}

// Candidates after all rules. Without top_k and top_p they stay in the order of their ids.
std::vector<Candidate> candidates(const std::vector<float>& z, float top, const SamplingOptions& options) {
  std::vector<Candidate> list;
  list.reserve(z.size());
  for (std::size_t v = 0; v < z.size(); ++v) {
    const double below = static_cast<double>(z[v]) - static_cast<double>(top);
    list.push_back({static_cast<std::int32_t>(v), std::exp(below / options.temperature)});
  }
  keep_likeliest(list, options.top_k);
  keep_share(list, options.top_p);
  if (options.min_p > 0) std::erase_if(list, [&](const Candidate& c) { return c.weight < options.min_p; });
  return list;
}

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
  // NaN is never chosen.
  std::replace_if(
      z.begin(), z.end(), [](float x) { return std::isnan(x); }, -INFINITY);
  if (options.repetition_penalty != 1) penalize(z, seen, options.repetition_penalty);
  const auto likeliest = std::max_element(z.begin(), z.end());
  if (likeliest == z.end() || !std::isfinite(*likeliest)) {
    throw Error(ErrorKind::numeric, "model.logits",
                "the logits of the model are not finite, so no token can be chosen\n"
                "The files may be damaged, or training has diverged.");
  }
  if (options.temperature == 0) return static_cast<std::int32_t>(likeliest - z.begin());
  const std::vector<Candidate> list = candidates(z, *likeliest, options);
  double left = draw(options.seed, item, place) * sum_of(list);
  for (const Candidate& c : list) {
    left -= c.weight;
    if (left < 0) return c.token;
  }
  // A remainder of rounding: the last token with any probability.
  const auto last = std::find_if(list.rbegin(), list.rend(), [](const Candidate& c) { return c.weight > 0; });
  return last->token;
}

}  // namespace headlight::models
