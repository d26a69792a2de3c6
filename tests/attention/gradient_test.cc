// The reference's gradients against central differences in f64 (robustness.md 2.5): every element of every
// input, all options in pairs; and random directions on larger shapes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "headlight/reference.h"
#include "support/gradients.h"
#include "support/random.h"
#include "support/slices.h"

namespace headlight::testing {
namespace {

// loss = Σ dout·out over the rows that see something, as a function of whatever the Instance holds.
class Loss {
 public:
  Loss(const Instance& x, const BackwardInputs& in) : x_(x), in_(in) {
    forward();
    for (const double g : values_of(in.dout.view())) dout_.push_back(std::isfinite(g) ? g : 0);
  }
  [[nodiscard]] double operator()() const {
    forward();
    const std::vector<double> out = values_of(in_.out.view());
    long double loss = 0;
    for (std::size_t n = 0; n < out.size(); ++n) loss += static_cast<long double>(dout_[n]) * out[n];
    return static_cast<double>(loss);
  }
  [[nodiscard]] Gradients gradients() const {
    forward();
    Gradients found(x_, DType::f64);
    reference::attention_backward(in_.saved(x_), in_.dout.view(), x_.options, found.views());
    return found;
  }

 private:
  void forward() const {
    reference::attention(x_.q.view(), x_.k.view(), x_.v.view(), x_.options,
                         {.out = in_.out.view(), .lse = in_.lse.view()});
  }
  const Instance& x_;
  const BackwardInputs& in_;
  std::vector<double> dout_;
};

// The elements of a view, in logical order, as one-element views.
std::vector<TensorView> elements_of(const TensorView& view) {
  std::vector<TensorView> list;
  if (view.empty()) return list;
  Index size[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 0};
  for (int axis = 0; axis < view.rank(); ++axis) {
    size[4 - view.rank() + axis] = view.dim(axis);
    stride[4 - view.rank() + axis] = view.stride(axis);
  }
  for (Index a = 0; a < size[0]; ++a)
    for (Index b = 0; b < size[1]; ++b)
      for (Index c = 0; c < size[2]; ++c)
        for (Index d = 0; d < size[3]; ++d) {
          list.emplace_back(view.as<double>() + a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3],
                            Shape{1});
        }
  return list;
}

struct Input {
  const char* name;
  const GuardedTensor& value;
  const GuardedTensor& gradient;
};
std::array<Input, 5> inputs_of(const Instance& x, const Gradients& found) {
  return {{{"q", x.q, found.dq},
           {"k", x.k, found.dk},
           {"v", x.v, found.dv},
           {"bias", x.bias, found.dbias},
           {"sinks", x.sinks, found.dsinks}}};
}

void check_every_element(const Case& c) {
  const Instance x(c);
  const BackwardInputs in(x);
  const Loss loss(x, in);
  const Gradients found = loss.gradients();
  ASSERT_TRUE(found.gaps_intact()) << describe(c);
  for (const Input& input : inputs_of(x, found)) {
    const std::vector<TensorView> elements = elements_of(input.value.view());
    const std::vector<double> gradient = values_of(input.gradient.view());
    ASSERT_EQ(elements.size(), gradient.size());
    for (std::size_t n = 0; n < elements.size(); ++n) {
      const double old = elements[n].at(0), step = 6e-6 * std::max(1.0, std::abs(old));
      if (!std::isfinite(old)) {  // hidden, or no case would be clean
        ASSERT_EQ(gradient[n], 0) << input.name << " element " << n << " " << describe(c);
        continue;
      }
      elements[n].set(0, old + step);
      const double above = loss();
      elements[n].set(0, old - step);
      const double below = loss();
      elements[n].set(0, old);
      const double numeric = (above - below) / (2 * step);
      ASSERT_LE(std::abs(numeric - gradient[n]), 1e-6 * (std::abs(numeric) + std::abs(gradient[n])) + 1e-9)
          << input.name << " element " << n << ": " << gradient[n] << ", by differences " << numeric << " "
          << describe(c);
    }
  }
}

// The options of a call as choices; a plan is one level of each.
constexpr std::array<Index, 12> kLevels = {6,                                  // visible
                                           static_cast<Index>(Spread::count),  // mask
                                           static_cast<Index>(Spread::count),  // bias
                                           static_cast<Index>(Ragged::count),  // lengths and packing
                                           4,                                  // scale
                                           2,
                                           2,
                                           2,                                   // softcap, ALiBi, sinks
                                           3,                                   // heads
                                           3,                                   // widths
                                           3,                                   // dropout
                                           static_cast<Index>(Layout::count)};  // where things lie
using Plan = std::array<Index, kLevels.size()>;

Plan random_plan(Random& random) {
  Plan plan;
  for (std::size_t f = 0; f < plan.size(); ++f) plan[f] = random.below(kLevels[f]);
  return plan;
}

// Every two levels of any two options meet in some plan.
std::vector<Plan> pairwise_plans(std::uint64_t seed) {
  using Pair = std::array<Index, 4>;
  std::set<Pair> open;
  for (std::size_t f = 0; f < kLevels.size(); ++f)
    for (std::size_t g = f + 1; g < kLevels.size(); ++g)
      for (Index a = 0; a < kLevels[f]; ++a)
        for (Index b = 0; b < kLevels[g]; ++b)
          open.insert({static_cast<Index>(f), a, static_cast<Index>(g), b});
  const auto pairs_of = [](const Plan& plan) {
    std::vector<Pair> pairs;
    for (std::size_t f = 0; f < plan.size(); ++f)
      for (std::size_t g = f + 1; g < plan.size(); ++g) {
        pairs.push_back({static_cast<Index>(f), plan[f], static_cast<Index>(g), plan[g]});
      }
    return pairs;
  };
  Random random(seed);
  std::vector<Plan> plans;
  while (!open.empty()) {
    Plan best{};
    std::size_t most = 0;
    while (most == 0) {
      for (int n = 0; n < 40; ++n) {
        Plan plan = random_plan(random);
        const Pair& some = *open.begin();
        plan[static_cast<std::size_t>(some[0])] = some[1];
        plan[static_cast<std::size_t>(some[2])] = some[3];
        std::size_t fresh = 0;
        for (const Pair& pair : pairs_of(plan)) fresh += open.count(pair);
        if (fresh > most) most = fresh, best = plan;
      }
    }
    for (const Pair& pair : pairs_of(best)) open.erase(pair);
    plans.push_back(best);
  }
  return plans;
}

Visibility visibility(Index kind, Random& random) {
  switch (kind) {
    case 0: return Visibility::all();
    case 1: return Visibility::causal();
    case 2: return Visibility::window(1 + random.below(4));
    case 3: return {.left = random.below(4), .right = random.below(4)};
    case 4: return Visibility::prefix_lm(random.below(5));
    default: return {.right = 0, .offset = random.below(7) - 3};
  }
}

// Lengths, or starts that end with the whole.
void draw_ends(Case& c, Random& random) {
  c.q_ends.clear(), c.k_ends.clear();
  if (c.ragged == Ragged::none) return;
  if (c.ragged != Ragged::packed) {
    for (Index b = 0; b < c.batch; ++b) {
      if (c.ragged == Ragged::both_lengths) c.q_ends.push_back(random.below(c.q_len + 1));
      c.k_ends.push_back(random.below(c.k_len + 1));
    }
    return;
  }
  c.batch = 1;
  c.q_ends = {0, random.below(c.q_len + 1), c.q_len};
  c.k_ends = {0, random.below(c.k_len + 1), c.k_len};
}

Case small_case(const Plan& plan, Random& random) {
  Case c{.seed = random.next() >> 34,
         .batch = 1 + random.below(2),
         .q_len = 1 + random.below(5),
         .k_len = 1 + random.below(6),
         .dtype = DType::f64};
  c.visible = visibility(plan[0], random);
  c.mask = static_cast<Spread>(plan[1]);
  c.bias = static_cast<Spread>(plan[2]);
  c.bias_dtype = DType::f64;
  c.ragged = static_cast<Ragged>(plan[3]);
  constexpr std::optional<double> kScales[] = {std::nullopt, 0.7, -0.4, 0.0};
  c.scale = kScales[plan[4]];
  c.softcap = plan[5] == 0 ? 0 : 1.5;
  c.alibi = plan[6] != 0;
  c.sinks = plan[7] != 0;
  constexpr Index kHeads[3][2] = {{1, 1}, {2, 1}, {4, 2}};
  c.q_heads = kHeads[plan[8]][0], c.kv_heads = kHeads[plan[8]][1];
  constexpr Index kWidths[3][2] = {{2, 2}, {1, 3}, {3, 1}};
  c.dim = kWidths[plan[9]][0], c.value_dim = kWidths[plan[9]][1];
  c.dropout = {.rate = plan[10] == 0   ? 0
                       : plan[10] == 1 ? 0.25
                                       : 0.8,
               .seed = random.next(),
               .layer = random.next() % 3};
  c.q_layout = c.k_layout = c.v_layout = static_cast<Layout>(plan[11]);
  if (plan[11] == static_cast<Index>(Layout::shared_heads))
    c.q_layout = c.k_layout = c.v_layout = Layout::token_major;
  c.out_layout = static_cast<Layout>(plan[11] % 3);
  draw_ends(c, random);
  return c;
}

TEST(Gradient, EveryElementWithAllOptionsInPairs) {
  Random random(11);
  const std::vector<Plan> plans = pairwise_plans(3);
  EXPECT_GE(plans.size(), 49U);
  for (const Plan& plan : plans) {
    check_every_element(small_case(plan, random));
    if (HasFatalFailure()) return;
  }
}

TEST(Gradient, EveryElementOfManyShapesUnderEveryMask) {
  Random random(12);
  for (int shape = 0; shape < 64; ++shape) {
    Case c{.batch = 1 + random.below(2),
           .kv_heads = 1 + random.below(2),
           .q_len = 1 + random.below(6),
           .k_len = 1 + random.below(7),
           .dim = 1 + random.below(4),
           .value_dim = 1 + random.below(4),
           .dtype = DType::f64,
           .bias_dtype = DType::f64};
    c.q_heads = c.kv_heads * (1 + random.below(2));
    for (Index kind = 0; kind < 10; ++kind) {
      Case made = c;
      made.seed = random.next() >> 34;
      if (kind < 6) made.visible = visibility(kind, random);
      if (kind == 6) made.mask = static_cast<Spread>(1 + random.below(6));
      if (kind == 7) made.bias = static_cast<Spread>(1 + random.below(6)), made.data = Data::mixed_inf;
      if (kind == 8) made.ragged = Ragged::both_lengths;
      if (kind == 9) made.ragged = Ragged::packed;
      if (made.data == Data::mixed_inf) {  // -inf only: +inf makes rows NaN
        const Instance probe(made);
        for (const double b : values_of(probe.bias.view())) {
          if (std::isinf(b) && b > 0) made.data = Data::all_minus_inf;
        }
      }
      draw_ends(made, random);
      check_every_element(made);
      if (HasFatalFailure()) return;
    }
  }
}

// Larger shapes: twenty random directions through all inputs at once, by Richardson's extrapolation.
TEST(Gradient, RandomDirectionsOnLargerShapes) {
  Random random(13);
  Case plain{.seed = 1,
             .batch = 2,
             .q_heads = 4,
             .kv_heads = 2,
             .q_len = 19,
             .k_len = 33,
             .dim = 16,
             .value_dim = 9,
             .dtype = DType::f64,
             .visible = Visibility::causal(),
             .bias_dtype = DType::f64};
  Case full = plain;
  full.softcap = 4, full.alibi = full.sinks = true, full.bias = Spread::heads_queries_keys,
  full.mask = Spread::all;
  full.dropout = {.rate = 0.3, .seed = 8};
  for (const Case& c : {plain, full}) {
    const Instance x(c);
    const BackwardInputs in(x);
    const Loss loss(x, in);
    const Gradients found = loss.gradients();
    for (int n = 0; n < 20; ++n) {
      struct Step {
        TensorView element;
        double old, direction;
      };
      std::vector<Step> steps;
      double expected = 0, size = 0;
      for (const Input& input : inputs_of(x, found)) {
        const std::vector<double> gradient = values_of(input.gradient.view());
        std::size_t at = 0;
        for (const TensorView& element : elements_of(input.value.view())) {
          const double g = gradient[at++], direction = random.normal();
          if (!std::isfinite(element.at(0))) continue;
          steps.push_back({element, element.at(0), direction});
          expected += g * direction;
          size += g * g;
        }
      }
      const auto slope = [&](double h) {
        const auto moved = [&](double by) {
          for (const Step& s : steps) s.element.set(0, s.old + by * s.direction);
          return loss();
        };
        return (moved(h) - moved(-h)) / (2 * h);
      };
      const double h = 2e-3, a = slope(h), b = slope(h / 2), d = slope(h / 4);
      const double ab = (4 * b - a) / 3, bd = (4 * d - b) / 3, numeric = (16 * bd - ab) / 15;
      for (const Step& s : steps) s.element.set(0, s.old);
      EXPECT_NEAR(expected, numeric, 1e-8 * std::max(std::abs(expected), std::sqrt(size))) << describe(c);
    }
  }
}

// Any dtype, shape and data, by loops that share nothing with the reference.
TEST(Gradient, RandomCasesAgreeWithTheTruth) {
  for (std::uint64_t seed = 400'000; seed < 400'400; ++seed) {
    Case c = random_case(seed);
    if (seed % 4 == 0)
      c.dropout = {.rate = static_cast<double>(seed % 7) / 8, .seed = seed, .layer = seed % 3};
    const Instance x(c);
    const BackwardInputs in(x);
    reference::attention(x.q.view(), x.k.view(), x.v.view(), x.options,
                         {.out = in.out.view(), .lse = in.lse.view()});
    const Gradients found(x, c.dtype);
    reference::attention_backward(in.saved(x), in.dout.view(), x.options, found.views());
    const GradientTruth truth(x, in.dout.view(), in.out.view(), in.lse.view());
    ASSERT_EQ(truth.check(found, c.dtype).problem, "") << "case " << seed << " " << describe(c);
  }
}

TEST(Gradient, DropoutOfZeroIsNone) {
  Random random(14);
  for (int n = 0; n < 20; ++n) {
    Case c = small_case(random_plan(random), random);
    c.dropout = {};
    const Instance plain(c);
    c.dropout = {.rate = 0, .seed = 99, .layer = 3};
    const Instance zero(c);
    const BackwardInputs a(plain), b(zero);
    EXPECT_TRUE(Loss(plain, a).gradients().same_bits(Loss(zero, b).gradients())) << describe(c);
  }
}

}  // namespace
}  // namespace headlight::testing
