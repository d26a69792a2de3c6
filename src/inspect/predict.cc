#include "inspect/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::inspect {

double log_sum_exp(std::span<const float> logits) {
  double top = -INFINITY, sum = 0;
  for (const float x : logits) top = std::max(top, double{x});
  for (const float x : logits) sum += std::exp(double{x} - top);
  return top + std::log(sum);
}

std::vector<TokenId> likeliest(std::span<const float> logits, Index count) {
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), TokenId{0});
  const auto kept = static_cast<std::ptrdiff_t>(std::min(static_cast<std::size_t>(count), order.size()));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), [&](TokenId a, TokenId b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  order.resize(static_cast<std::size_t>(kept));
  return order;
}

Index rank_of(std::span<const float> logits, TokenId token) {
  const auto at = static_cast<std::size_t>(token);
  Index before = 0;
  for (std::size_t v = 0; v < logits.size(); ++v)
    before += logits[v] > logits[at] || (logits[v] == logits[at] && v < at) ? 1 : 0;
  return before + 1;
}

Prediction predict(std::span<const float> logits, Index count, TokenId actual) {
  const double norm = log_sum_exp(logits);
  const auto one = [&](TokenId id) {
    const double logit = double{logits[static_cast<std::size_t>(id)]};
    return TokenProbability{id, std::exp(logit - norm), logit};
  };
  Prediction out;
  for (const TokenId id : likeliest(logits, count)) out.top.push_back(one(id));
  if (actual >= 0 && static_cast<std::size_t>(actual) < logits.size()) {
    out.actual = one(actual);
    out.rank = rank_of(logits, actual);
  }
  return out;
}

}  // namespace headlight::inspect
