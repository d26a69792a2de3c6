#include "support/truth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/concat.h"
#include "core/random.h"
#include "headlight/reference.h"

namespace headlight::testing {

double kept_factor(const Dropout& dropout, const Sequence& s, Index h, Index i, Index j) {
  if (dropout.rate == 0) return 1;
  const bool kept = DropoutKey::of(dropout.rate, dropout.seed, dropout.layer).keeps(s.item, h, i, j);
  return kept ? 1 / (1 - dropout.rate) : 0;
}

namespace {

const double* row_of(const Tensor& x, Index b, Index h, Index t) {
  return x.as<double>() + ((b * x.dim(1) + h) * x.dim(2) + t) * x.dim(3);
}

struct ExactRow {
  std::vector<long double> out;
  long double lse = -std::numeric_limits<long double>::infinity();
};

// One row again in long double: 64 digits where the reference has 53. Not for rows with NaN.
ExactRow exact_row(const Problem& p, const Sequence& s, Index h, Index i, const std::vector<Index>& keys) {
  using Real = long double;
  const AttentionOptions& o = *p.options;
  const Index kv = h / p.group;
  std::vector<Real> scores;
  Real top = o.sinks.empty() ? -std::numeric_limits<Real>::infinity() : static_cast<Real>(o.sinks.at(h));
  for (const Index j : keys) {
    Real x = 0;
    for (Index d = 0; d < p.dim; ++d) {
      x += static_cast<Real>(p.q.at(s.batch, h, s.q_start + i, d)) * p.k.at(s.batch, kv, s.k_start + j, d);
    }
    x *= p.scale;
    if (o.softcap > 0) x = o.softcap * std::tanh(x / o.softcap);
    if (!o.alibi_slopes.empty()) x -= static_cast<Real>(o.alibi_slopes.at(h)) * std::abs(i + s.offset - j);
    if (p.bias.data != nullptr) x += p.bias.at(s.item, h, i, j);
    scores.push_back(x);
    top = std::max(top, x);
  }
  ExactRow row;
  row.out.resize(static_cast<std::size_t>(p.value_dim));
  Real total = o.sinks.empty() ? 0 : std::exp(static_cast<Real>(o.sinks.at(h)) - top);
  for (std::size_t r = 0; r < keys.size(); ++r) {
    const Real e = std::exp(scores[r] - top);
    total += e;
    const Real kept = kept_factor(o.dropout, s, h, i, keys[r]);
    for (Index d = 0; d < p.value_dim; ++d) {
      row.out[static_cast<std::size_t>(d)] += e * kept * p.v.at(s.batch, kv, s.k_start + keys[r], d);
    }
  }
  if (total > 0) row.lse = top + std::log(total);
  for (Real& x : row.out) x = total > 0 ? x / total : 0;
  return row;
}

}  // namespace

Truth::Truth(const Instance& instance)
    : instance_(instance),
      q_(exact_copy(instance.q.view())),
      k_(exact_copy(instance.k.view())),
      v_(exact_copy(instance.v.view())),
      problem_(check_call("truth", q_, k_, v_, instance.options)),
      truth_(instance, DType::f64, true),
      size_(truth_.out.view().shape(), DType::f64),
      reach_(truth_.out.view().shape(), DType::f64) {
  reference::attention(q_, k_, v_, instance.options, truth_.views());
  find_bounds();
  sharpen();
}

void Truth::find_bounds() {
  const Problem& p = problem_;
  bounds_.resize(static_cast<std::size_t>(p.q.dim(0) * p.q_heads * p.q_total));
  sharp_.resize(bounds_.size());
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h)
      for (Index i = 0; i < s.q_len; ++i) {
        const std::vector<Index> keys = keys_of(p, s, h, i);
        const Index token = s.q_start + i;
        bounds_[row_number(s.batch, h, token)] = accuracy::row_bound(p, s, h, i, keys);
        auto* size = const_cast<double*>(row_of(size_, s.batch, h, token));
        auto* reach = const_cast<double*>(row_of(reach_, s.batch, h, token));
        for (const Index j : keys) {
          const double* value = row_of(v_, s.batch, h / p.group, s.k_start + j);
          const double kept = kept_factor(p.options->dropout, s, h, i, j);
          const double weight = truth_.weights.view().at(s.item, h, i, j) * kept;
          for (Index d = 0; d < p.value_dim; ++d) {
            size[d] += weight * std::abs(value[d]);
            reach[d] += std::abs(value[d]) * std::max(1.0, kept);
          }
        }
      }
  }
}

// f64 results need a truth with more digits than f64 has.
void Truth::sharpen() {
  if (instance_.c.dtype != DType::f64 || bounds_.empty()) return;
  const Problem& p = problem_;
  const Index rows = p.q.dim(0) * p.q_heads * p.q_total, step = rows / 100 + 1;
  Index number = 0;
  for (Index n = 0; n < p.sequences; ++n) {
    const Sequence s = p.sequence(n);
    for (Index h = 0; h < p.q_heads; ++h)
      for (Index i = 0; i < s.q_len; ++i) {
        const Index token = s.q_start + i;
        if (number++ % step != 0 || std::isnan(truth_.lse.view().at(s.batch, h, token))) continue;
        const RowBound& row = bound(s.batch, h, token);
        const ExactRow exact = exact_row(p, s, h, i, keys_of(p, s, h, i));
        for (Index d = 0; d < p.value_dim; ++d) {
          const auto out = static_cast<double>(exact.out[static_cast<std::size_t>(d)]);
          const double slack =
              0x1p-1021 * reach_.at(s.batch, h, token, d) + 0x1p-1074 * static_cast<double>(row.keys + 4);
          const double error = scaled_error(truth_.out.view().at(s.batch, h, token, d), out, 0x1p-53, row,
                                            size_.at(s.batch, h, token, d), slack);
          if (!std::isnan(error)) reference_error_ = std::max(reference_error_, error);
          truth_.out.view().set(s.batch, h, token, d, out);
        }
        truth_.lse.view().set(s.batch, h, token, static_cast<double>(exact.lse));
        sharp_[row_number(s.batch, h, token)] = true;
      }
  }
}

// Collects the first complaint; every check returns at once after it.
class Truth::Judge {
 public:
  Judge(const Truth& truth, const Results& found, const Rounding& rounding)
      : t_(truth),
        found_(found),
        c_(truth.instance_.c),
        rounding_(rounding),
        u_(std::max(rounding.unit, accuracy::rounding_unit(c_.dtype))),
        flush_(accuracy::flushed_weight(c_.dtype)),
        // Dropout's factor comes last, after products below the smallest normal number have been rounded.
        least_(std::max(rounding.least, c_.dtype == DType::f64 ? 0x1p-1074 : 0x1p-149) /
               (1 - c_.dropout.rate)) {}

  Verdict run() {
    if (!found_.gaps_intact()) complain("bytes outside the outputs were written");
    for (Index b = 0; b < c_.batch; ++b)
      for (Index h = 0; h < c_.q_heads; ++h)
        for (Index i = 0; i < c_.q_len; ++i) row(b, h, i);
    if (!found_.weights.view().empty()) weights();
    return verdict_;
  }

 private:
  template <class... Parts>
  void complain(const Parts&... parts) {
    if (verdict_.problem.empty()) verdict_.problem = concat(parts...);
  }

  // Scores beyond f32 become ±inf there and not here: neither answer is wrong.
  [[nodiscard]] bool overflows(const RowBound& row) const {
    return row.hardness > (c_.dtype == DType::f64 ? 1e307 : 2e38);
  }
  // What the limits of 2.2 forget about the dot product, in units of u·K'. Folding scale·log2(e) into q
  // costs up to 2; a sum of `dim` terms in order costs √dim/4, and dim/4 when all round the same way.
  [[nodiscard]] bool one_sign() const { return c_.data == Data::constant || c_.data == Data::one_hot; }
  [[nodiscard]] double growth() const {
    const auto dim = static_cast<double>(c_.dim);
    return one_sign() ? dim / 4 : std::sqrt(dim) / 4;
  }
  // How far a score, or the log of a sum of them, may be off: u·(4 + 2K' + √n), and the above.
  [[nodiscard]] double score_limit(const RowBound& row) const {
    return u_ * (4 + (4 + growth()) * row.hardness + std::sqrt(static_cast<double>(row.keys)));
  }
  // How far a weight may be off, in parts of itself.
  [[nodiscard]] double weight_limit(const RowBound& row) const {
    return std::expm1(std::min(700.0, 2 * score_limit(row)));
  }

  void near(const char* what, Index b, Index h, Index i, double found, double truth, double limit) {
    const bool same =
        std::isnan(truth) ? std::isnan(found) : found == truth || std::abs(found - truth) <= limit;
    if (!same) complain(what, "[", b, ",", h, ",", i, "] is ", found, ", not ", truth, " ± ", limit);
  }

  void row(Index b, Index h, Index i) {
    const RowBound& row = t_.bound(b, h, i);
    if (overflows(row)) return;
    const double limit = score_limit(row);
    for (Index d = 0; d < c_.value_dim; ++d) element(b, h, i, d, row);
    const Results& truth = t_.truth_;
    const double entropy = truth.entropy.view().at(b, h, i);
    const auto statistic = [&](const char* what, const GuardedTensor& found, const GuardedTensor& wanted,
                               double within) {
      if (!found.view().empty())
        near(what, b, h, i, found.view().at(b, h, i), wanted.view().at(b, h, i), within);
    };
    // 4 ULP for f64, where the truth is no better than that.
    const auto ulps = [&](const GuardedTensor& wanted) {
      const double size = c_.dtype == DType::f64 ? std::abs(wanted.view().at(b, h, i)) : 0;
      return std::isfinite(size) ? 8 * u_ * size : 0;
    };
    const double lifted = limit + 4 * u_ * row.lift;
    statistic("lse", found_.lse, truth.lse, lifted + ulps(truth.lse));
    // A sink can keep lse small where the largest logit is a bias near the end of the range: its own rounding counts.
    const double most = std::abs(truth.max.view().at(b, h, i));
    statistic("max", found_.max, truth.max,
              lifted + ulps(truth.max) + (std::isfinite(most) ? 4 * u_ * most : 0));
    statistic("entropy", found_.entropy, truth.entropy, limit * (2 + 2 * entropy));
    const double sink = truth.sink_weight.view().at(b, h, i);
    statistic("sink_weight", found_.sink_weight, truth.sink_weight, sink * weight_limit(row) + flush_);
  }

  void element(Index b, Index h, Index i, Index d, const RowBound& row) {
    const double found = found_.out.view().at(b, h, i, d), truth = t_.truth_.out.view().at(b, h, i, d);
    if (!std::isfinite(truth)) {
      if (std::isfinite(found) || (std::isnan(truth) && !std::isnan(found))) {
        complain("out[", b, ",", h, ",", i, ",", d, "] is ", found, ", not ", truth);
      }
      return;
    }
    const double size = t_.size_.at(b, h, i, d);
    double slack = flush_ * t_.reach_.at(b, h, i, d) + least_ * static_cast<double>(row.keys + 4);
    slack += rounding_.weights * size;
    if (row.keys == 0) slack = 0;
    if (c_.dtype == DType::f16 || c_.dtype == DType::bf16) {
      slack += accuracy::half_step(c_.dtype,
                                   std::max(std::abs(truth), std::isfinite(found) ? std::abs(found) : 0));
      if (c_.dtype == DType::f16 && std::isinf(found) && std::abs(truth) + slack >= 65520) return;
    }
    const double error = scaled_error(found, truth, u_, row, size, slack);
    double allowed = c_.dtype != DType::f64 ? 4 : t_.sharp_[t_.row_number(b, h, i)] ? 8 : 12;
    if (one_sign()) allowed = std::max(allowed, growth());
    if (!(error <= allowed)) {
      complain("out[", b, ",", h, ",", i, ",", d, "] is ", found, ", not ", truth, ": scaled error ", error,
               " (keys ", row.keys, ", hardness ", row.hardness, ", size ", size, ")");
      return;
    }
    verdict_.worst_error = std::max(verdict_.worst_error, error);
    // Not with dropout: where it drops the heavy weights, what is left has the relative error of a light one.
    const bool typical = c_.data == Data::normal && c_.dtype == DType::f32 && !c_.scale && !c_.alibi &&
                         c_.dim <= 64 && c_.bias == Spread::none && c_.dropout.rate == 0;
    if (typical && std::abs(found - truth) > 1e-6 * size) {
      complain("out[", b, ",", h, ",", i, ",", d, "] is ", found, ", not ", truth, ": 1e-6 of ", size,
               " is the limit");
    }
  }

  // Weights, what each key received, and the heaviest keys.
  void weights() {
    const Problem& p = t_.problem_;
    for (Index n = 0; n < p.sequences; ++n) {
      const Sequence s = p.sequence(n);
      for (Index h = 0; h < p.q_heads; ++h) {
        std::vector<double> limits(static_cast<std::size_t>(s.k_rows));
        bool skip = false;
        for (Index i = 0; i < p.q_longest; ++i) {
          const bool real = i < s.q_len;
          const RowBound none, &row = real ? t_.bound(s.batch, h, s.q_start + i) : none;
          if (overflows(row)) {
            skip = true;
            continue;
          }
          for (Index j = 0; j < p.k_longest; ++j) weight(s, h, i, j, row, limits);
          if (i < s.q_rows) top(s, h, i, row);
        }
        for (Index j = 0; j < s.k_rows && !skip; ++j) {
          const double truth = t_.truth_.received.view().at(s.batch, h, s.k_start + j);
          near("received", s.batch, h, s.k_start + j, found_.received.view().at(s.batch, h, s.k_start + j),
               truth,
               limits[static_cast<std::size_t>(j)] +
                   u_ * truth * std::sqrt(static_cast<double>(s.q_rows)) * 2);
        }
      }
    }
  }

  void weight(const Sequence& s, Index h, Index i, Index j, const RowBound& row,
              std::vector<double>& limits) {
    const double found = found_.weights.view().at(s.item, h, i, j),
                 truth = t_.truth_.weights.view().at(s.item, h, i, j);
    const double limit = truth * weight_limit(row) + (row.keys > 0 ? flush_ : 0);
    const bool same = std::isnan(truth) ? std::isnan(found) : std::abs(found - truth) <= limit;
    if (!same)
      complain("weights[", s.item, ",", h, ",", i, ",", j, "] is ", found, ", not ", truth, " ± ", limit);
    if (j < s.k_rows) limits[static_cast<std::size_t>(j)] += limit;
  }

  void top(const Sequence& s, Index h, Index i, const RowBound& row) {
    const Index token = s.q_start + i;
    std::vector<Index> seen;
    for (Index place = 0; place < c_.top; ++place) {
      const double weight = found_.topk_weight.view().at(s.batch, h, token, place);
      const double truth = t_.truth_.topk_weight.view().at(s.batch, h, token, place);
      const auto key = static_cast<Index>(found_.topk_index.view().at(s.batch, h, token, place));
      const auto wanted = static_cast<Index>(t_.truth_.topk_index.view().at(s.batch, h, token, place));
      const double limit = truth * weight_limit(row) + (row.keys > 0 ? flush_ : 0);
      near("topk_weight", s.batch, h, token, weight, truth, limit);
      if ((key < 0) != (wanted < 0))
        complain("topk_index[", s.batch, ",", h, ",", token, "] is ", key, ", not ", wanted);
      if (key < 0 || wanted < 0) continue;
      // Another key is as good when its true weight cannot be told from the wanted one's.
      const double its = key < s.k_rows ? t_.truth_.weights.view().at(s.item, h, i, key) : -1;
      const bool tied = c_.data == Data::constant && !c_.alibi && c_.bias == Spread::none;
      if (tied ? key != wanted : std::abs(its - truth) > 2 * limit) {
        complain("topk_index[", s.batch, ",", h, ",", token, ",", place, "] is ", key, ", not ", wanted);
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        complain("topk_index names key ", key, " twice");
      seen.push_back(key);
    }
  }

  const Truth& t_;
  const Results& found_;
  const Case& c_;
  const Rounding& rounding_;
  double u_, flush_, least_;
  Verdict verdict_;
};

Verdict Truth::check(const Results& found, const Rounding& rounding) const {
  return Judge(*this, found, rounding).run();
}

}  // namespace headlight::testing
