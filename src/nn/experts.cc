// Mixtures of experts: a router scores the experts for each token, the best few process it, and their outputs are weighted
// and added. The order of sums is that of the experts' numbers, so bits do not depend on threads. Processes that share the
// products of a model have some experts each, and exchange the outputs once per layer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/team.h"
#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

using Score = ExpertsConfig::Score;

void check(const std::string& name, const ExpertsConfig& c) {
  const bool good = c.count > 0 && c.used > 0 && c.used <= c.count && c.groups > 0 &&
                    c.count % c.groups == 0 && c.groups_used > 0 && c.groups_used <= c.groups &&
                    c.used <= c.groups_used * (c.count / c.groups) &&
                    (!c.correction || c.groups == 1 || c.count / c.groups >= 2);
  if (good) return;
  throw Error(ErrorKind::usage, "nn.experts",
              concat(name, ": ", c.used, " of ", c.count, " experts, in ", c.groups_used, " of ", c.groups,
                     " groups; need no more than there are, and groups of equal size"));
}

// The indices of the `count` largest values, largest first; the first of equals.
std::vector<std::int32_t> best(const std::vector<double>& values, Index count) {
  std::vector<std::int32_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](std::int32_t a, std::int32_t b) {
    const double x = values[static_cast<std::size_t>(a)], y = values[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  });
  order.resize(static_cast<std::size_t>(count));
  return order;
}

std::vector<double> scores_of(const ConstTensorView& logits, Index token, Score score) {
  std::vector<double> values(static_cast<std::size_t>(logits.dim(1)));
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t e = 0; e < values.size(); ++e) {
    values[e] = logits.at(token, static_cast<Index>(e));
    top = std::max(top, values[e]);
  }
  for (double& value : values) {
    value = score == Score::softmax ? std::exp(value - top) : 1 / (1 + std::exp(-value));
    sum += value;
  }
  if (score == Score::softmax)
    for (double& value : values) value /= sum;
  return values;
}

// Excludes the experts of all groups but the best ones.
void keep_groups(const ExpertsConfig& c, std::vector<double>& choice) {
  const auto each = static_cast<std::size_t>(c.count / c.groups);
  std::vector<double> groups;
  for (std::size_t first = 0; first < choice.size(); first += each) {
    std::vector<double> members(choice.begin() + static_cast<std::ptrdiff_t>(first),
                                choice.begin() + static_cast<std::ptrdiff_t>(first + each));
    std::sort(members.rbegin(), members.rend());
    groups.push_back(c.correction ? members[0] + members[1] : members[0]);
  }
  const std::vector<std::int32_t> kept = best(groups, c.groups_used);
  for (std::size_t e = 0; e < choice.size(); ++e)
    if (std::find(kept.begin(), kept.end(), static_cast<std::int32_t>(e / each)) == kept.end())
      choice[e] = -std::numeric_limits<double>::infinity();
}

// to += factor·from
template <class T>
void add_row(const kernels::ElementKernels<T>& kernels, double factor, const T* from, T* to, Index n) {
  kernels.scaled(static_cast<T>(factor), from, to, to, n);
}

double dot_row(const ConstTensorView& a, Index row_a, const ConstTensorView& b, Index row_b) {
  double sum = 0;
  with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *x = a.as<T>() + row_a * a.stride(0), *y = b.as<T>() + row_b * b.stride(0);
    for (Index d = 0; d < a.dim(1); ++d) sum += static_cast<double>(x[d]) * static_cast<double>(y[d]);
  });
  return sum;
}

// Neighbouring experts are on different processes, because a router often chooses neighbours.
int owner_of(std::size_t expert, const Team& team) {
  return static_cast<int>(expert % static_cast<std::size_t>(team.size()));
}

// Exchanges the outputs: each process has those of its own experts, and needs all of them.
template <class Visits>
void share_answers(Team& team, Visits& visits) {
  const auto ranks = static_cast<std::size_t>(team.size());
  std::vector<std::vector<std::byte>> answers(ranks);
  std::vector<std::byte> mine;
  const auto bytes_of = [](const Tensor& x) {
    return static_cast<std::size_t>(x.shape().elements()) * size_of(x.dtype());
  };
  for (std::size_t e = 0; e < visits.size(); ++e) {
    auto& visit = visits[e];
    if (visit.places.empty()) continue;
    const auto owner = static_cast<std::size_t>(owner_of(e, team));
    answers[owner].resize(answers[owner].size() + bytes_of(visit.x));  // as large as its input
    if (visit.y.empty()) continue;
    const auto* first = visit.y.template as<std::byte>();
    mine.insert(mine.end(), first, first + bytes_of(visit.y));
  }
  const std::vector<std::span<const std::byte>> parts(ranks, mine);
  const std::vector<std::span<std::byte>> from(answers.begin(), answers.end());
  team.all_to_all(parts, from);
  std::vector<std::size_t> at(ranks, 0);
  for (std::size_t e = 0; e < visits.size(); ++e) {
    auto& visit = visits[e];
    if (visit.places.empty()) continue;
    const auto owner = static_cast<std::size_t>(owner_of(e, team));
    if (visit.y.empty()) {
      visit.y = Tensor::uninitialized(visit.x.shape(), visit.x.dtype());
      std::copy_n(answers[owner].data() + at[owner], bytes_of(visit.y), visit.y.template as<std::byte>());
    }
    at[owner] += bytes_of(visit.y);
  }
}

}  // namespace

Experts::Experts(const std::string& name, const ExpertsConfig& config, const FeedForwardConfig& one,
                 DType dtype)
    : config_(config), one_(one) {
  check(name + ".experts", config);
  router = Linear(name + ".router",
                  {.in = one.width, .out = config.count, .bias = config.router_bias, .weights = one.weights},
                  dtype);
  if (config.correction) {
    correction = {name + ".router.correction", Tensor({config.count}, dtype), {}, false};
    correction.trained = false;  // the choice of experts has no gradient
  }
  experts.reserve(static_cast<std::size_t>(config.count));
  for (Index e = 0; e < config.count; ++e) experts.emplace_back(concat(name, ".experts.", e), one, dtype);
  if (config.shared_inner > 0) {
    FeedForwardConfig all = one;
    all.inner = config.shared_inner;
    all.layout = WeightLayout::out_in;
    all.gate_packed = all.gate_pairs = false;
    shared = FeedForward(name + ".shared", all, dtype);
  }
}

void Experts::choose(Saved& s, Index tokens) const {
  const auto used = static_cast<std::size_t>(config_.used);
  s.experts.clear(), s.scores.clear(), s.weights.clear();
  for (Index t = 0; t < tokens; ++t) {
    const std::vector<double> scores = scores_of(s.logits, t, config_.score);
    std::vector<double> choice = scores;
    if (config_.correction)
      for (std::size_t e = 0; e < choice.size(); ++e) choice[e] += correction.value.at(static_cast<Index>(e));
    for (double& value : choice)  // NaN cannot be ordered
      if (std::isnan(value)) value = -std::numeric_limits<double>::infinity();
    if (config_.groups > config_.groups_used) keep_groups(config_, choice);
    const std::vector<std::int32_t> chosen = best(choice, config_.used);
    double sum = 0;
    for (const std::int32_t e : chosen) sum += scores[static_cast<std::size_t>(e)];
    const double factor = config_.renormalised ? config_.scale / sum : config_.scale;
    for (std::size_t i = 0; i < used; ++i) {
      s.experts.push_back(chosen[i]);
      s.scores.push_back(scores[static_cast<std::size_t>(chosen[i])]);
      s.weights.push_back(factor * s.scores.back());
    }
  }
}

Tensor Experts::forward(Context& ctx, ConstTensorView x, Saved& s) const {
  const CallScope scope(ctx);
  const DefaultFloatMode float_mode;
  const Index tokens = x.dim(0), width = x.dim(1);
  s.logits = router.forward(ctx, x);
  choose(s, tokens);
  Tensor y = shared.down.empty() ? Tensor({tokens, width}, x.dtype()) : shared.forward(ctx, x, &s.shared);
  s.visits = std::vector<Saved::Visit>(experts.size());
  for (std::size_t place = 0; place < s.experts.size(); ++place)
    s.visits[static_cast<std::size_t>(s.experts[place])].places.push_back(static_cast<Index>(place));
  Team* const team = team_of(ctx, Together::products);
  for (std::size_t e = 0; e < experts.size(); ++e) {
    Saved::Visit& visit = s.visits[e];
    if (visit.places.empty()) continue;
    const auto rows = static_cast<Index>(visit.places.size());
    visit.x = Tensor::uninitialized({rows, width}, x.dtype());
    with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
      for (Index r = 0; r < rows; ++r) {
        const Index place = visit.places[static_cast<std::size_t>(r)];
        const double factor = config_.weighs_input ? s.weights[static_cast<std::size_t>(place)] : 1;
        kernels.scaled(static_cast<T>(factor), x.as<T>() + place / config_.used * x.stride(0), nullptr,
                       visit.x.as<T>() + r * width, width);
      }
    });
    if (team != nullptr && owner_of(e, *team) != team->rank()) continue;
    const AloneScope alone(ctx);
    visit.y = experts[e].forward(ctx, visit.x, &visit.saved);
  }
  if (team != nullptr) share_answers(*team, s.visits);
  for (Saved::Visit& visit : s.visits) {
    if (visit.places.empty()) continue;
    const auto rows = static_cast<Index>(visit.places.size());
    with_type(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const auto& kernels = kernels::element_kernels_for(ctx.target()).of<T>();
      for (Index r = 0; r < rows; ++r) {
        const Index place = visit.places[static_cast<std::size_t>(r)];
        const double factor = config_.weighs_input ? 1 : s.weights[static_cast<std::size_t>(place)];
        add_row<T>(kernels, factor, visit.y.as<T>() + r * width, y.as<T>() + place / config_.used * width,
                   width);
      }
    });
  }
  return y;
}

// From the weights to the router's logits. The choice of experts has no gradient.
Tensor Experts::logits_backward(const Saved& s, const std::vector<double>& dweights) const {
  const Index tokens = s.logits.dim(0);
  const auto used = static_cast<std::size_t>(config_.used);
  Tensor dlogits(s.logits.shape(), s.logits.dtype());
  for (Index t = 0; t < tokens; ++t) {
    const std::size_t first = static_cast<std::size_t>(t) * used;
    double sum = 0, common = 0;
    for (std::size_t i = first; i < first + used; ++i) {
      sum += s.scores[i];
      common += dweights[i] * s.weights[i];
    }
    // dscore of the chosen experts; those of all others are 0.
    std::vector<double> dscores(used);
    for (std::size_t i = 0; i < used; ++i) {
      const double d = dweights[first + i];
      dscores[i] = config_.renormalised ? (d * config_.scale - common) / sum : d * config_.scale;
    }
    if (config_.score == Score::sigmoid) {
      for (std::size_t i = 0; i < used; ++i) {
        const double p = s.scores[first + i];
        dlogits.view().set(t, s.experts[first + i], dscores[i] * p * (1 - p));
      }
      continue;
    }
    const std::vector<double> scores = scores_of(s.logits, t, config_.score);
    double mean = 0;
    for (std::size_t i = 0; i < used; ++i) mean += dscores[i] * s.scores[first + i];
    for (std::size_t e = 0; e < scores.size(); ++e)
      dlogits.view().set(t, static_cast<Index>(e), -scores[e] * mean);
    for (std::size_t i = 0; i < used; ++i) {
      const Index e = s.experts[first + i];
      dlogits.view().set(t, e, dlogits.at(t, e) + dscores[i] * s.scores[first + i]);
    }
  }
  return dlogits;
}

Tensor Experts::backward(Context& ctx, ConstTensorView x, const Saved& s, ConstTensorView dy) {
  const CallScope scope(ctx);
  const DefaultFloatMode float_mode;
  const Index width = x.dim(1);
  Tensor dx =
      shared.down.empty() ? Tensor({x.dim(0), width}, x.dtype()) : shared.backward(ctx, x, s.shared, dy);
  std::vector<double> dweights(s.weights.size(), 0);
  for (std::size_t e = 0; e < experts.size(); ++e) {
    const Saved::Visit& visit = s.visits[e];
    if (visit.places.empty()) continue;
    const auto rows = static_cast<Index>(visit.places.size());
    Tensor danswer = Tensor::uninitialized({rows, width}, x.dtype());
    with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
      for (Index r = 0; r < rows; ++r) {
        const auto place = static_cast<std::size_t>(visit.places[static_cast<std::size_t>(r)]);
        const Index token = static_cast<Index>(place) / config_.used;
        if (!config_.weighs_input) dweights[place] += dot_row(dy, token, visit.y, r);
        kernels.scaled(static_cast<T>(config_.weighs_input ? 1 : s.weights[place]),
                       dy.as<T>() + token * dy.stride(0), nullptr, danswer.as<T>() + r * width, width);
      }
      const Tensor dread = experts[e].backward(ctx, visit.x, visit.saved, danswer);
      for (Index r = 0; r < rows; ++r) {
        const auto place = static_cast<std::size_t>(visit.places[static_cast<std::size_t>(r)]);
        const Index token = static_cast<Index>(place) / config_.used;
        if (config_.weighs_input) dweights[place] += dot_row(dread, r, x, token);
        add_row<T>(kernels, config_.weighs_input ? s.weights[place] : 1, dread.as<T>() + r * width,
                   dx.as<T>() + token * width, width);
      }
    });
  }
  add_to(ctx, router.backward(ctx, x, logits_backward(s, dweights)), dx);
  return dx;
}

void Experts::collect(Parameters& list) {
  router.collect(list);
  if (!correction.value.empty()) list.push_back(&correction);
  for (FeedForward& expert : experts) expert.collect(list);
  shared.collect(list);
}

}  // namespace headlight::nn
