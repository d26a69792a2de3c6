// The memory of a case: strided tensors between guard bytes, and the numbers of each data kind.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/cases.h"
#include "support/random.h"
#include "support/slices.h"

namespace headlight::testing {
namespace {

constexpr std::uint8_t kPattern = 0xC5;
constexpr Index kGuard = 64;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Calls use(offset in elements) for every element, in logical order.
template <class Use>
void each_offset(const ConstTensorView& view, const Use& use) {
  Index size[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 0};
  for (int axis = 0; axis < view.rank(); ++axis) {
    size[4 - view.rank() + axis] = view.dim(axis);
    stride[4 - view.rank() + axis] = view.stride(axis);
  }
  for (Index a = 0; a < size[0]; ++a)
    for (Index b = 0; b < size[1]; ++b)
      for (Index c = 0; c < size[2]; ++c)
        for (Index d = 0; d < size[3]; ++d)
          use(a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]);
}

// Positive strides of a layout; `reversed` axes are turned round afterwards.
Shape strides_of(const Shape& shape, Layout layout) {
  Shape strides = ConstTensorView(nullptr, DType::f32, shape).shape();
  Index step = 1;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    strides.dims[static_cast<std::size_t>(axis)] = step;
    step *= std::max<Index>(1, shape[axis]);
    if (layout == Layout::padded && axis < shape.rank) step += axis == shape.rank - 1 ? 3 : 5;
  }
  if (shape.rank != 4) return strides;
  if (layout == Layout::token_major) {
    strides.dims[1] = shape[3];
    strides.dims[2] = shape[3] * shape[1];
  }
  if (layout == Layout::shared_heads) strides.dims[1] = 0;
  return strides;
}

}  // namespace

GuardedTensor::GuardedTensor(const Shape& shape, DType dtype, Layout layout, Index shift) {
  Shape strides = strides_of(shape, layout);
  Index extent = shape.elements() > 0 ? 1 : 0;
  for (int axis = 0; axis < shape.rank; ++axis) extent += std::max<Index>(0, shape[axis] - 1) * strides[axis];
  const auto item = static_cast<Index>(size_of(dtype));
  block_.assign(static_cast<std::size_t>(2 * kGuard + 64 + (shift + extent) * item), kPattern);
  auto address = reinterpret_cast<std::uintptr_t>(block_.data()) + static_cast<std::uintptr_t>(kGuard);
  address = (address + 63) / 64 * 64 + static_cast<std::uintptr_t>(shift * item);
  Index first = 0;
  const int turned = layout == Layout::reversed_batch ? 0 : layout == Layout::reversed_tokens ? 2 : -1;
  if (turned >= 0 && shape.rank == 4 && shape[turned] > 1) {
    Index& stride = strides.dims[static_cast<std::size_t>(turned)];
    first = (shape[turned] - 1) * stride;
    stride = -stride;
  }
  view_ = TensorView(reinterpret_cast<void*>(address + static_cast<std::uintptr_t>(first * item)), dtype,
                     shape, strides);
}

void GuardedTensor::fill(double x) const {
  each_offset(view_, [&](Index at) {
    const TensorView one(view_.as<std::uint8_t>() + at * static_cast<Index>(size_of(view_.dtype())),
                         view_.dtype(), {1});
    one.set(0, x);
  });
}

bool GuardedTensor::gaps_intact() const {
  std::vector<bool> owned(block_.size());
  const auto item = static_cast<Index>(size_of(view_.dtype()));
  const Index first = view_.as<std::uint8_t>() - block_.data();
  if (!view_.empty()) {
    each_offset(view_, [&](Index at) {
      for (Index n = 0; n < item; ++n) owned[static_cast<std::size_t>(first + at * item + n)] = true;
    });
  }
  for (std::size_t i = 0; i < block_.size(); ++i) {
    if (!owned[i] && block_[i] != kPattern) return false;
  }
  return true;
}

std::vector<std::uint8_t> bits_of(const ConstTensorView& view) {
  std::vector<std::uint8_t> bits;
  if (view.empty()) return bits;
  const auto item = static_cast<Index>(size_of(view.dtype()));
  each_offset(view, [&](Index at) {
    const std::uint8_t* element = view.as<std::uint8_t>() + at * item;
    bits.insert(bits.end(), element, element + item);
  });
  return bits;
}

std::vector<double> values_of(const ConstTensorView& view) {
  std::vector<double> values;
  if (view.empty()) return values;
  const auto item = static_cast<Index>(size_of(view.dtype()));
  each_offset(view, [&](Index at) {
    values.push_back(ConstTensorView(view.as<std::uint8_t>() + at * item, view.dtype(), {1}).at(0));
  });
  return values;
}

std::vector<std::uint8_t> GuardedTensor::bits() const { return bits_of(view_); }

namespace {

// The largest magnitudes that a dtype can play with.
struct Reach {
  double large, huge, smallest, least_normal;
};
Reach reach_of(DType dtype) {
  if (dtype == DType::f16) return {6e4, 6e4, 0x1p-24, 0x1p-14};
  if (dtype == DType::f64) return {1e8, 1e30, 0x1p-1074, 0x1p-1022};
  return {1e8, 1e30, 0x1p-149, 0x1p-126};
}

// One element of q, k or v by data kind. `token` and `d` are its place, `part` is 'q', 'k' or 'v'.
double number(const Case& c, Random& random, char part, Index token, Index d, double scale) {
  const Reach reach = reach_of(c.dtype);
  const Index hot = c.k_len / 2;
  switch (c.data) {
    case Data::constant: return part == 'q' ? 0.5 : part == 'k' ? 0.25 : 0.75;
    case Data::one_hot:
      if (part == 'q') return 1 + 0.1 * random.normal();
      return part == 'k' && token == hot ? 30 : random.normal();
    case Data::scores_1e4: return part == 'v' ? random.normal() : 100 * random.normal();
    case Data::scores_1e38: {
      if (part == 'v') return random.normal();
      const double side = c.dtype == DType::f16 ? 6e4
                          : part == 'q'         ? 1e19
                                                : 1e19 / static_cast<double>(c.dim);
      return side * (2 * random.uniform() - 1);
    }
    case Data::denormal: {
      const double span = std::log(reach.least_normal / reach.smallest);
      const double x = reach.smallest * std::exp(span * random.uniform());
      return random.below(2) == 0 ? x : -x;
    }
    case Data::tiny_weights: {
      const double gap = c.dtype == DType::f16 ? 11 : 69;  // exp(-69) is 1e-30
      if (part == 'q') return d == 0 ? 1 : 0;
      if (part == 'k') return d == 0 && token != hot && scale != 0 ? -gap / scale : 0;
      return token == hot ? random.normal() : reach.huge * random.normal();
    }
    case Data::cancelling:
      return part == 'v' ? (token % 2 == 0 ? reach.large : -reach.large) : 0.01 * random.normal();
    case Data::minus_zero: return random.below(2) == 0 ? -0.0 : 0.0;
    default: return random.normal();
  }
}

void fill_numbers(const Case& c, Random& random, char part, const TensorView& x) {
  const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(c.dim)));
  for (Index b = 0; b < x.dim(0); ++b)
    for (Index h = 0; h < x.dim(1); ++h)
      for (Index t = 0; t < x.dim(2); ++t)
        for (Index d = 0; d < x.dim(3); ++d) x.set(b, h, t, d, number(c, random, part, t, d, scale));
}

Shape spread_shape(Spread spread, Index s, Index h, Index q, Index k) {
  switch (spread) {
    case Spread::keys: return {k};
    case Spread::queries_keys: return {q, k};
    case Spread::heads_queries_keys: return {h, q, k};
    case Spread::batch_keys: return {s, 1, 1, k};
    case Spread::batch_queries: return {s, 1, q, 1};
    case Spread::all: return {s, h, q, k};
    default: return {};
  }
}

double poison(Random& random) {
  const double kinds[3] = {kNan, kInf, -kInf};
  return kinds[random.below(3)];
}

void poison_row(Random& random, const TensorView& x, Index b, Index h, Index t) {
  for (Index d = 0; d < x.dim(3); ++d) x.set(b, h, t, d, poison(random));
}

// Rows behind a length hold anything but numbers.
void poison_padding(Random& random, const TensorView& x, const std::vector<Index>& lengths) {
  for (std::size_t b = 0; b < lengths.size(); ++b)
    for (Index h = 0; h < x.dim(1); ++h)
      for (Index t = lengths[b]; t < x.dim(2); ++t) poison_row(random, x, static_cast<Index>(b), h, t);
}

// Masks written as biases, and numbers near the end of the range: one flavour for each case.
double large_bias_number(const Case& c, Random& random) {
  constexpr double kF16Most = 65504, kBf16Most = 0x1.FEp127, kF32Most = std::numeric_limits<float>::max();
  const double most = c.bias_dtype == DType::f16    ? kF16Most
                      : c.bias_dtype == DType::bf16 ? kBf16Most
                                                    : kF32Most;
  const double kLows[] = {-most, std::max(-most, -1e38), std::max(-most, -1e9)};
  const double low = kLows[c.seed % 3];
  const Index kind = random.below(100);
  switch (c.seed / 3 % 4) {
    case 0: return kind < 50 ? low : 0;  // a mask
    case 1: return low;                  // a mask that hides everything
    case 2: return kind < 95 ? low : std::min(most, 2.5e38);
    default: return kind < 30 ? low : kind < 32 ? most : random.normal();
  }
}

double bias_number(const Case& c, Random& random) {
  if (c.data == Data::all_minus_inf) return -kInf;
  if (c.data == Data::large_bias) return large_bias_number(c, random);
  if (c.data == Data::mixed_inf) {
    const Index kind = random.below(100);
    if (kind < 30) return -kInf;
    if (kind < 31) return kInf;
  }
  return random.normal();
}

void place_nans(const Case& c, Random& random, Instance& made) {
  const auto somewhere = [&](const TensorView& x) {
    if (x.shape().elements() == 0) return;
    x.set(random.below(x.dim(0)), random.below(x.dim(1)), random.below(x.dim(2)), random.below(x.dim(3)),
          kNan);
  };
  if (c.data != Data::nan_visible) return;
  somewhere(made.v.view());
  if (random.below(2) == 0) somewhere(made.k.view());
  if (random.below(2) == 0) somewhere(made.q.view());
}

// Keys that a mask of shape [keys] hides from everyone hold poison.
void hide_keys(const Case& c, Random& random, Instance& made) {
  if (c.mask != Spread::keys || c.ragged == Ragged::packed) return;
  for (Index t = 0; t < c.k_len; ++t) {
    if (made.mask[static_cast<std::size_t>(t)] != 0) continue;
    for (Index b = 0; b < c.batch; ++b)
      for (Index h = 0; h < c.kv_heads; ++h) {
        poison_row(random, made.k.view(), b, h, t);
        poison_row(random, made.v.view(), b, h, t);
      }
  }
}

}  // namespace

Index Instance::sequences() const {
  return c.ragged == Ragged::packed ? static_cast<Index>(c.k_ends.size()) - 1 : c.batch;
}

Index Instance::longest(std::span<const Index> ends, Index whole) const {
  if (c.ragged != Ragged::packed) return whole;
  Index most = 0;
  for (std::size_t i = 1; i < ends.size(); ++i) most = std::max(most, ends[i] - ends[i - 1]);
  return most;
}

Instance::Instance(const Case& made)
    : c(made),
      q({c.batch, c.q_heads, c.q_len, c.dim}, c.dtype, c.q_layout, c.shift),
      k({c.batch, c.kv_heads, c.k_len, c.dim}, c.dtype, c.k_layout, c.shift),
      v({c.batch, c.kv_heads, c.k_len, c.value_dim}, c.dtype, c.v_layout, c.shift) {
  Random random(c.seed);
  fill_numbers(c, random, 'q', q.view());
  fill_numbers(c, random, 'k', k.view());
  fill_numbers(c, random, 'v', v.view());
  place_nans(c, random, *this);
  options.scale = c.scale;
  options.visible = c.visible;
  options.softcap = c.softcap;
  options.dropout = c.dropout;
  if (c.ragged == Ragged::packed) {
    options.q_starts = c.q_ends;
    options.k_starts = c.k_ends;
  } else {
    options.q_lengths = c.q_ends;
    options.k_lengths = c.k_ends;
    poison_padding(random, q.view(), c.q_ends);
    poison_padding(random, k.view(), c.k_ends);
    poison_padding(random, v.view(), c.k_ends);
  }
  const Index q_longest = longest(c.q_ends, c.q_len), k_longest = longest(c.k_ends, c.k_len);
  if (c.mask != Spread::none) {
    const Shape shape = spread_shape(c.mask, sequences(), c.q_heads, q_longest, k_longest);
    for (Index i = 0; i < shape.elements(); ++i) mask.push_back(random.below(4) != 0 ? 1 : 0);
    options.mask = ConstTensorView(mask.data(), DType::boolean, shape);
    hide_keys(c, random, *this);
  }
  if (c.bias != Spread::none) {
    bias = GuardedTensor(spread_shape(c.bias, sequences(), c.q_heads, q_longest, k_longest), c.bias_dtype);
    each_offset(bias.view(), [&](Index at) {
      const auto item = static_cast<Index>(size_of(c.bias_dtype));
      const TensorView one(bias.view().as<std::uint8_t>() + at * item, c.bias_dtype, {1});
      // Where the mask has the same shape and hides, the bias is poisoned as well.
      const bool hidden = c.mask == c.bias && mask[static_cast<std::size_t>(at)] == 0;
      one.set(0, hidden ? poison(random) : bias_number(c, random));
    });
    options.bias = bias.view();
  }
  if (c.alibi) {
    slopes = GuardedTensor({c.q_heads}, c.dtype == DType::f64 ? DType::f64 : DType::f32);
    for (Index h = 0; h < c.q_heads; ++h) slopes.view().set(h, random.uniform() / 4);
    options.alibi_slopes = slopes.view();
  }
  if (c.sinks) {
    sinks = GuardedTensor({c.q_heads}, c.dtype == DType::f64 ? DType::f64 : DType::f32);
    for (Index h = 0; h < c.q_heads; ++h) sinks.view().set(h, 2 * random.normal());
    options.sinks = sinks.view();
  }
}

Results::Results(const Instance& instance, DType dtype, bool statistics) {
  const Case& c = instance.c;
  const DType statistic = dtype == DType::f64 ? DType::f64 : DType::f32;
  const Shape per_row{c.batch, c.q_heads, c.q_len}, per_top{c.batch, c.q_heads, c.q_len, c.top};
  const Index q_longest = instance.longest(c.q_ends, c.q_len),
              k_longest = instance.longest(c.k_ends, c.k_len);
  out = GuardedTensor({c.batch, c.q_heads, c.q_len, c.value_dim}, dtype, c.out_layout, c.shift);
  lse = GuardedTensor(per_row, statistic, Layout::dense, c.shift);
  out.fill(kNan);
  lse.fill(kNan);
  if (!statistics) return;
  max = GuardedTensor(per_row, statistic, c.out_layout, c.shift);
  entropy = GuardedTensor(per_row, statistic);
  sink_weight = GuardedTensor(per_row, statistic);
  weights = GuardedTensor({instance.sequences(), c.q_heads, q_longest, k_longest}, statistic, c.out_layout,
                          c.shift);
  topk_index = GuardedTensor(per_top, DType::i64);
  topk_weight = GuardedTensor(per_top, statistic);
  received = GuardedTensor({c.batch, c.q_heads, c.k_len}, statistic);
  for (const GuardedTensor* t : {&max, &entropy, &sink_weight, &weights, &topk_weight, &received})
    t->fill(kNan);
  topk_index.fill(-77);
}

AttentionOutputs Results::views() const {
  return {.out = out.view(),
          .lse = lse.view(),
          .max = max.view(),
          .entropy = entropy.view(),
          .sink_weight = sink_weight.view(),
          .weights = weights.view(),
          .topk_index = topk_index.view(),
          .topk_weight = topk_weight.view(),
          .received = received.view()};
}

bool Results::gaps_intact() const {
  for (const GuardedTensor* t :
       {&out, &lse, &max, &entropy, &sink_weight, &weights, &topk_index, &topk_weight, &received}) {
    if (!t->gaps_intact()) return false;
  }
  return true;
}

bool Results::same_bits(const Results& other) const {
  using Member = GuardedTensor Results::*;
  for (const Member m :
       {&Results::out, &Results::lse, &Results::max, &Results::entropy, &Results::sink_weight,
        &Results::weights, &Results::topk_index, &Results::topk_weight, &Results::received}) {
    const GuardedTensor &a = this->*m, &b = other.*m;
    if (!a.view().empty() && !b.view().empty() && a.bits() != b.bits()) return false;
  }
  return true;
}

}  // namespace headlight::testing
