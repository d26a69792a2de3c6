// NaN and Inf that a row does not see leave its bits alone; those it sees show, exactly there. And no
// byte outside a tensor is read: tensors end, or begin, at a page that cannot be touched.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "attention/problem.h"
#include "support/page_edge.h"
#include "support/random.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

class Poison : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 2, .target = GetParam()}};
};

bool sees(const Problem& p, const Sequence& s, Index h, Index i, Index j) {
  const Range keys = p.keys_for(s, i);
  if (j < keys.begin || j >= keys.end) return false;
  const auto at = [&](const Broadcast& b) {
    return ConstTensorView(b.data, b.dtype, {p.sequences, p.q_heads, p.q_longest, p.k_longest},
                           {b.stride[0], b.stride[1], b.stride[2], b.stride[3]})
        .at(s.item, h, i, j);
  };
  if (p.mask.data != nullptr && at(p.mask) == 0) return false;
  return p.bias.data == nullptr || at(p.bias) != -kInf;
}

// Cases whose numbers are all ordinary, so that every NaN in a result was put there on purpose.
Case clean_case(std::uint64_t seed) {
  Case c = random_case(seed);
  c.data = Data::normal;
  c.statistics = false;
  if (c.k_layout == Layout::shared_heads) c.k_layout = Layout::dense;  // poison one head, not all
  if (c.v_layout == Layout::shared_heads) c.v_layout = Layout::dense;
  return c;
}

// Poisons one token of one key head in `x` and checks every row: untouched, or NaN as it should be.
template <class Touched>
void check_rows(const Instance& x, const Results& before, const Results& after, const Problem& p, Index token,
                Index head, const Touched& touched) {
  const Case& c = x.c;
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h)
      for (Index i = 0; i < s.q_rows; ++i) {
        const Index j = token - s.k_start;
        const bool hit = h / p.group == head && s.batch == 0 && j >= 0 && j < s.k_len && sees(p, s, h, i, j);
        for (Index d = 0; d < c.value_dim; ++d) {
          const double old = before.out.view().at(s.batch, h, s.q_start + i, d);
          const double now = after.out.view().at(s.batch, h, s.q_start + i, d);
          if (hit && touched(d)) {
            ASSERT_TRUE(std::isnan(now))
                << "laundered: head " << h << " row " << i << " column " << d << " " << describe(c);
          } else {
            ASSERT_EQ(std::signbit(old), std::signbit(now)) << describe(c);
            ASSERT_EQ(old, now) << "leaked: head " << h << " row " << i << " column " << d << " "
                                << describe(c);
          }
        }
      }
  }
}

Results run(Context& ctx, const Instance& x) {
  Results found(x, x.c.dtype, false);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, found.views());
  return found;
}

TEST_P(Poison, ShowsExactlyWhereItIsSeen) {
  Random random(9);
  for (std::uint64_t n = 0; n < 300; ++n) {
    const Instance x(clean_case(100'000 + n));
    if (x.c.k_len == 0 || x.c.q_len == 0 ||
        (x.c.ragged != Ragged::packed && !x.c.k_ends.empty() && x.c.k_ends[0] == 0))
      continue;
    const Problem p = check_call("poison", x.q.view(), x.k.view(), x.v.view(), x.options);
    const Results before = run(ctx, x);
    const Index keys = x.c.ragged == Ragged::packed || x.c.k_ends.empty() ? x.c.k_len : x.c.k_ends[0];
    const Index token = random.below(keys), head = random.below(x.c.kv_heads);

    // A NaN in one element of a value: its column, in the rows that see the key.
    const Index column = random.below(x.c.value_dim);
    const double value = x.v.view().at(0, head, token, column);
    x.v.view().set(0, head, token, column, kNan);
    check_rows(x, before, run(ctx, x), p, token, head, [&](Index d) { return d == column; });
    x.v.view().set(0, head, token, column, value);

    // A NaN in one element of a key: all of the rows that see it.
    const Index dim = random.below(x.c.dim);
    x.k.view().set(0, head, token, dim, kNan);
    check_rows(x, before, run(ctx, x), p, token, head, [](Index) { return true; });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Everything that no row sees is replaced: by NaN and infinities, then by ordinary numbers.
TEST_P(Poison, HiddenTokensChangeNoBit) {
  for (std::uint64_t n = 0; n < 300; ++n) {
    const Instance x(clean_case(110'000 + n));
    const Problem p = check_call("poison", x.q.view(), x.k.view(), x.v.view(), x.options);
    const auto replace = [&](double a, double b) {
      for (Index s = 0; s < p.sequences; ++s) {
        const Sequence seq = p.sequence(s);
        for (Index kv = 0; kv < p.kv_heads; ++kv)
          for (Index j = 0; j < seq.k_rows; ++j) {
            bool seen = false;
            for (Index h = kv * p.group; h < (kv + 1) * p.group && !seen; ++h)
              for (Index i = 0; i < seq.q_len && !seen; ++i) seen = j < seq.k_len && sees(p, seq, h, i, j);
            if (seen) continue;
            for (Index d = 0; d < p.dim; ++d)
              x.k.view().set(seq.batch, kv, seq.k_start + j, d, d % 2 == 0 ? a : b);
            for (Index d = 0; d < p.value_dim; ++d)
              x.v.view().set(seq.batch, kv, seq.k_start + j, d, d % 2 == 0 ? b : a);
          }
        for (Index h = 0; h < p.q_heads; ++h)
          for (Index i = seq.q_len; i < seq.q_rows; ++i)
            for (Index d = 0; d < p.dim; ++d) x.q.view().set(seq.batch, h, seq.q_start + i, d, a);
      }
    };
    replace(1, -2);
    const Results plain = run(ctx, x);
    for (const auto& [a, b] : {std::pair{kNan, kNan}, std::pair{kInf, -kInf}, std::pair{-kInf, kNan}}) {
      replace(a, b);
      ASSERT_TRUE(plain.same_bits(run(ctx, x))) << a << " " << b << " " << describe(x.c);
    }
  }
}

TEST_P(Poison, NothingOutsideATensorIsTouched) {
  for (std::uint64_t n = 0; n < 200; ++n) {
    const Instance x(clean_case(120'000 + n));
    const Results expected = run(ctx, x);
    for (const bool at_end : {true, false}) {
      const AtPageEdge q(x.q.view(), at_end), k(x.k.view(), at_end), v(x.v.view(), at_end);
      const AtPageEdge out(expected.out.view(), at_end), lse(expected.lse.view(), at_end);
      const OptionsAtPageEdge there(x.options, at_end);
      attention_forward(ctx, q.view, k.view, v.view, there.options, out.view, lse.view);
      ASSERT_EQ(bits_of(out.view), expected.out.bits()) << describe(x.c);
      ASSERT_EQ(bits_of(lse.view), expected.lse.bits()) << describe(x.c);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Poison, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
