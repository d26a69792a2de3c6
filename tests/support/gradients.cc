#include "support/gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/concat.h"
#include "support/random.h"
#include "support/slices.h"

namespace headlight::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double dout_number(const Case& c, Random& random, Index token) {
  switch (c.data) {
    case Data::constant: return 0.5;
    case Data::minus_zero: return random.below(2) == 0 ? -0.0 : 0.0;
    case Data::cancelling: return (token % 2 == 0 ? 1 : -1) + 0.001 * random.normal();
    default: return random.normal();
  }
}

const double* row_of(const Tensor& x, Index b, Index h, Index t) {
  return x.as<double>() + ((b * x.dim(1) + h) * x.dim(2) + t) * x.dim(3);
}

}  // namespace

BackwardInputs::BackwardInputs(const Instance& x)
    : dout({x.c.batch, x.c.q_heads, x.c.q_len, x.c.value_dim}, x.c.dtype, x.c.q_layout, x.c.shift),
      out({x.c.batch, x.c.q_heads, x.c.q_len, x.c.value_dim}, x.c.dtype, x.c.out_layout, x.c.shift),
      lse({x.c.batch, x.c.q_heads, x.c.q_len}, x.c.dtype == DType::f64 ? DType::f64 : DType::f32) {
  const Problem p = check_call("inputs", x.q.view(), x.k.view(), x.v.view(), x.options);
  Random random(x.c.seed + 0x9E37U);
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h)
      for (Index i = 0; i < s.q_rows; ++i) {
        const bool blind = keys_of(p, s, h, i).empty() && x.c.q_layout != Layout::shared_heads;
        for (Index d = 0; d < p.value_dim; ++d) {
          const double poison[3] = {kNan, kInf, -kInf};
          dout.view().set(s.batch, h, s.q_start + i, d,
                          blind ? poison[random.below(3)] : dout_number(x.c, random, s.q_start + i));
        }
      }
  }
  out.fill(kNan);
  lse.fill(kNan);
}

Gradients::Gradients(const Instance& x, DType dtype)
    : dq({x.c.batch, x.c.q_heads, x.c.q_len, x.c.dim}, dtype, x.c.out_layout, x.c.shift),
      dk({x.c.batch, x.c.kv_heads, x.c.k_len, x.c.dim}, dtype, x.c.out_layout, x.c.shift),
      dv({x.c.batch, x.c.kv_heads, x.c.k_len, x.c.value_dim}, dtype, x.c.out_layout, x.c.shift) {
  const DType summed = dtype == DType::f64 ? DType::f64 : DType::f32;
  for (const GuardedTensor* t : {&dq, &dk, &dv}) t->fill(kNan);
  if (!x.options.bias.empty()) {
    dbias = GuardedTensor(x.options.bias.shape(), summed, x.c.out_layout, x.c.shift);
    dbias.fill(kNan);
  }
  if (!x.options.sinks.empty()) {
    dsinks = GuardedTensor({x.c.q_heads}, summed);
    dsinks.fill(kNan);
  }
}

bool Gradients::gaps_intact() const {
  for (const GuardedTensor* t : {&dq, &dk, &dv, &dbias, &dsinks}) {
    if (!t->gaps_intact()) return false;
  }
  return true;
}

bool Gradients::same_bits(const Gradients& other) const {
  using Member = GuardedTensor Gradients::*;
  for (const Member m :
       {&Gradients::dq, &Gradients::dk, &Gradients::dv, &Gradients::dbias, &Gradients::dsinks}) {
    if ((this->*m).bits() != (other.*m).bits()) return false;
  }
  return true;
}

GradientTruth::Sums::Sums(const Shape& shape)
    : list(shape.rank == 0 ? 0 : static_cast<std::size_t>(shape.elements())) {
  Index step = 1;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    if (shape[axis] != 1) stride[4 - shape.rank + axis] = step;
    step *= shape[axis];
  }
}

GradientTruth::GradientTruth(const Instance& x, const ConstTensorView& dout, const ConstTensorView& out,
                             const ConstTensorView& lse, bool exact)
    : c_(x.c),
      q_(exact_copy(x.q.view())),
      k_(exact_copy(x.k.view())),
      v_(exact_copy(x.v.view())),
      dq_(q_.shape()),
      dk_(k_.shape()),
      dv_(v_.shape()),
      dbias_(x.options.bias.shape()),
      dsinks_(x.options.sinks.shape()) {
  const Tensor dout64 = exact_copy(dout), out64 = exact_copy(out);
  const Problem p = check_call("truth", q_, k_, v_, x.options);
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h)
      for (Index i = 0; i < s.q_len; ++i) {
        add_row(p, s, h, i, dout64, out64, lse.at(s.batch, h, s.q_start + i), exact);
      }
  }
}

void GradientTruth::add_row(const Problem& p, const Sequence& s, Index h, Index i, const Tensor& dout,
                            const Tensor& out, double lse, bool exact) {
  const std::vector<Index> keys = keys_of(p, s, h, i);
  if (keys.empty()) return;
  const AttentionOptions& o = *p.options;
  const Index kv = h / p.group, b = s.batch;
  const double *q = row_of(q_, b, h, s.q_start + i), *g = row_of(dout, b, h, s.q_start + i),
               *mix = row_of(out, b, h, s.q_start + i);
  const bool f64 = c_.dtype == DType::f64;
  const double u = accuracy::rounding_unit(c_.dtype), flush = accuracy::flushed_weight(c_.dtype),
               least = f64 ? 0x1p-1074 : 0x1p-149;

  struct Term {
    double raw = 0, slope = 1, weight = 0, kept = 1;
  };
  std::vector<Term> terms;
  const accuracy::RowBound bound = accuracy::row_bound(p, s, h, i, keys);
  double hardness = bound.hardness, sink = 0;
  std::vector<long double> scores;
  for (const Index j : keys) {
    const double* k = row_of(k_, b, kv, s.k_start + j);
    Term t;
    long double dot = 0;
    for (Index d = 0; d < p.dim; ++d) dot += static_cast<long double>(q[d]) * k[d];
    long double x = p.scale * dot;
    if (o.softcap > 0) {
      const long double bent = std::tanh(x / o.softcap);
      t.slope = static_cast<double>(1 - bent * bent);
      x = o.softcap * bent;
    }
    if (!o.alibi_slopes.empty()) {
      const double far = std::abs(static_cast<double>(i + s.offset - j));
      x -= static_cast<long double>(o.alibi_slopes.at(h)) * far;
    }
    if (p.bias.data != nullptr) x += p.bias.at(s.item, h, i, j);
    t.weight = static_cast<double>(std::exp(x - lse));
    scores.push_back(x);
    t.kept = kept_factor(o.dropout, s, h, i, j);
    terms.push_back(t);
  }
  if (!o.sinks.empty()) sink = std::exp(o.sinks.at(h) - lse);
  if (bound.lift > 0) {  // lse has no digits left for the weights
    const long double top = *std::max_element(scores.begin(), scores.end());
    long double total = o.sinks.empty() ? 0 : std::exp(o.sinks.at(h) - top);
    for (const long double x : scores) total += std::exp(x - top);
    for (std::size_t r = 0; r < terms.size(); ++r)
      terms[r].weight = static_cast<double>(std::exp(scores[r] - top) / total);
    sink = o.sinks.empty() ? 0 : static_cast<double>(std::exp(o.sinks.at(h) - top) / total);
  }
  // Terms of one sign round the same way: a dot product is then off by up to dim/4 of its K', not √dim/4.
  if (c_.data == Data::constant || c_.data == Data::one_hot) hardness *= 1 + static_cast<double>(p.dim) / 64;
  // A weight is exp(score - lse), and lse as a number of its own has the rounding of |score|: where that
  // is no longer small against 1, weights cannot be had from lse. Scores beyond f32 are infinite there.
  double rounds = 1 + hardness + std::sqrt(static_cast<double>(keys.size()));
  if (std::isfinite(hardness) && u * rounds > 1.0 / 64) rounds = 0;

  long double common = 0;
  double common_size = 0, common_carried = 0;
  for (Index d = 0; d < p.value_dim; ++d) {
    common += static_cast<long double>(g[d]) * mix[d];
    double reach = std::abs(mix[d]);
    if (exact) {  // the call's own out was rounded, and had its own weights below the smallest normal
      reach = 0;
      for (std::size_t r = 0; r < keys.size(); ++r) {
        const double v = std::abs(row_of(v_, b, kv, s.k_start + keys[r])[d]);
        reach += terms[r].weight * terms[r].kept * v;
        common_carried += std::abs(g[d]) * std::max(1.0, terms[r].kept) * (flush * v + least);
      }
    }
    common_size += std::abs(g[d]) * reach;
  }
  for (std::size_t r = 0; r < keys.size(); ++r) {
    const Term& t = terms[r];
    const Index key = s.k_start + keys[r];
    const double *k = row_of(k_, b, kv, key), *v = row_of(v_, b, kv, key);
    long double dweight = 0;
    double size = common_size;
    for (Index d = 0; d < p.value_dim; ++d) {
      dweight += static_cast<long double>(t.kept * g[d]) * v[d];
      size += t.kept * std::abs(g[d]) * std::abs(v[d]);
      const double share = t.weight * t.kept;
      dv_.at(b, kv, key, d)
          .add(static_cast<long double>(share) * g[d], share * std::abs(g[d]), rounds,
               t.kept * (flush * std::abs(g[d]) + least));
    }
    // What products below the smallest number lose of one score's gradient.
    const double carried = flush * size +
                           least * std::max(1.0, t.kept) * static_cast<double>(p.value_dim + 4) +
                           t.weight * common_carried;
    const long double dscore = t.weight * (dweight - common);
    if (!dbias_.list.empty()) dbias_.at(s.item, h, i, keys[r]).add(dscore, t.weight * size, rounds, carried);
    const long double dmatch = p.scale * t.slope * dscore;
    const double match_size = std::abs(p.scale) * t.weight * size,
                 match_carried = std::abs(p.scale) * carried;
    for (Index d = 0; d < p.dim; ++d) {
      dq_.at(b, h, s.q_start + i, d)
          .add(dmatch * k[d], match_size * std::abs(k[d]), rounds, match_carried * std::abs(k[d]));
      dk_.at(b, kv, key, d)
          .add(dmatch * q[d], match_size * std::abs(q[d]), rounds, match_carried * std::abs(q[d]));
    }
  }
  if (!dsinks_.list.empty()) {
    const double lost =
        flush * common_size + sink * common_carried + sink * least * static_cast<double>(p.value_dim + 4);
    dsinks_.at(0, 0, 0, h).add(-sink * common, sink * common_size, rounds, lost);
  }
}

Verdict GradientTruth::check(const Gradients& found, DType dtype, const Rounding& rounding) const {
  Verdict verdict;
  if (!found.gaps_intact()) verdict.problem = "bytes outside the gradients were written";
  check_one("dq", found.dq, dq_, dtype, rounding, verdict);
  check_one("dk", found.dk, dk_, dtype, rounding, verdict);
  check_one("dv", found.dv, dv_, dtype, rounding, verdict);
  check_one("dbias", found.dbias, dbias_, dtype, rounding, verdict);
  check_one("dsinks", found.dsinks, dsinks_, dtype, rounding, verdict);
  return verdict;
}

void GradientTruth::check_one(const char* name, const GuardedTensor& tensor, const Sums& truth, DType dtype,
                              const Rounding& rounding, Verdict& verdict) const {
  if (tensor.view().empty() || !verdict.problem.empty()) return;
  const double u = std::max(rounding.unit, accuracy::rounding_unit(dtype)),
               least = std::max(rounding.least, dtype == DType::f64 ? 0x1p-1074 : 0x1p-149);
  const DType stored = tensor.view().dtype();
  const double most = stored == DType::f64 ? kInf : stored == DType::f16 ? 65504 : 3.3e38;
  std::size_t n = 0;
  for (const double x : values_of(tensor.view())) {
    const Sum& sum = truth.list[n];
    const auto value = static_cast<double>(sum.value);
    const auto complain = [&](const auto&... why) {
      if (verdict.problem.empty()) verdict.problem = concat(name, " element ", n - 1, " is ", x, why...);
    };
    ++n;
    if (sum.terms == 0) {
      if (x != 0) complain(" where nothing was seen");
      continue;
    }
    if (sum.excused) continue;
    if (!std::isfinite(value)) {
      if (std::isfinite(x)) complain(", not ", value);
      continue;
    }
    const double slack =
        sum.flush + least * (sum.terms + 4) +
        accuracy::half_step(stored, std::max(std::abs(value), std::isfinite(x) ? std::abs(x) : 0));
    const double off = std::abs(x - value);
    if (std::abs(value) + slack > most && (std::isinf(x) || off <= slack)) continue;
    // Not max(0, off - slack), which is 0 for a NaN.
    const double over = off <= slack ? 0 : off - slack, error = over == 0 ? 0 : over / (u * sum.size);
    if (!(error <= 16)) {
      complain(", not ", value, ": scaled error ", error, " (size ", sum.size, ", ", sum.terms, " terms)");
    } else {
      verdict.worst_error = std::max(verdict.worst_error, error);
    }
  }
}

}  // namespace headlight::testing
