// A few tiles of random rows and keys with their memory, and the same attention as plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel_test.h"
#include "support/random.h"

namespace headlight::testing {

using kernels::kMaxRows;
using kernels::kMaxTileKeys;

inline constexpr double kNothing = -std::numeric_limits<double>::infinity();

struct TileSizes {
  int rows = 1, dim = 8, value_dim = 8;
  std::vector<int> keys = {8};  // of each tile
  bool cap = false, alibi = false, bias = false, mask = false;
  DType bias_type = DType::f32;
  Index bias_stride = 1, mask_stride = 1;
};

inline TileSizes random_sizes(Random& random) {
  TileSizes s;
  s.rows = 1 + static_cast<int>(random.below(random.below(4) == 0 ? kMaxRows : 19));
  s.dim = 1 + static_cast<int>(random.below(70));
  s.value_dim = 1 + static_cast<int>(random.below(70));
  s.keys.resize(static_cast<std::size_t>(1 + random.below(3)));
  for (int& n : s.keys) n = 1 + static_cast<int>(random.below(random.below(6) == 0 ? kMaxTileKeys : 70));
  if (random.below(2) == 0) {
    s.cap = random.below(2) == 0;
    s.alibi = random.below(2) == 0;
    s.bias = random.below(2) == 0;
    s.mask = random.below(2) == 0;
    constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
    s.bias_type = kTypes[random.below(4)];
    s.bias_stride = random.below(3);
    s.mask_stride = random.below(3);
  }
  return s;
}

// The running state of rows, poisoned: a fresh absorb() must not read it.
template <class T>
struct State {
  Aligned<T> max, sum, acc;
  Index stride;
  explicit State(Index columns)
      : max(kMaxRows, std::nan("")),
        sum(kMaxRows, std::nan("")),
        acc(kMaxRows * ((columns + 31) / 16 * 16), std::nan("")),
        stride((columns + 31) / 16 * 16) {}
  [[nodiscard]] kernels::SoftmaxState<T> view() { return {max.data(), sum.data(), acc.data(), stride}; }
  void clear() {
    for (T& x : max) x = -std::numeric_limits<T>::infinity();
    for (T& x : sum) x = 0;
    for (T& x : acc) x = 0;
  }
};

template <class T>
struct Tiles {
  const kernels::AttentionKernels<T>& kernels;
  TileSizes sizes;
  int columns;  // value_dim in whole vectors
  Index all_keys = 0, scores_stride = kMaxTileKeys + 16;
  Aligned<T> q, k, v, scores;
  std::vector<Aligned<T>> packed_keys, packed_values;
  std::vector<std::vector<std::int32_t>> begin, end;  // per tile and row
  std::vector<kernels::RowRule<T>> rule;
  T cap = 0;
  Tensor bias;
  std::vector<std::uint8_t> mask;

  Tiles(const kernels::AttentionKernels<T>& table, const TileSizes& s, Random& random)
      : kernels(table),
        sizes(s),
        columns((s.value_dim + table.lanes - 1) / table.lanes * table.lanes),
        all_keys(sum_of(s.keys)),
        q(s.rows * s.dim),
        k(all_keys * s.dim),
        v(all_keys * s.value_dim),
        scores(kMaxRows * scores_stride, std::nan("")) {
    for (T& x : q) x = static_cast<T>(random.normal() / std::sqrt(s.dim));
    for (T& x : k) x = static_cast<T>(2 * random.normal());
    for (T& x : v) x = static_cast<T>(random.normal());
    pack();
    draw_ranges(random);
    draw_rules(random);
  }

  static Index sum_of(const std::vector<int>& list) {
    Index sum = 0;
    for (const int n : list) sum += n;
    return sum;
  }
  [[nodiscard]] Index first_key(std::size_t t) const {
    return sum_of({sizes.keys.begin(), sizes.keys.begin() + static_cast<std::ptrdiff_t>(t)});
  }

  void pack() {
    packed_keys.clear();
    packed_values.clear();
    const DType type = sizeof(T) == 4 ? DType::f32 : DType::f64;
    for (std::size_t t = 0; t < sizes.keys.size(); ++t) {
      const int n = sizes.keys[t];
      const Index first = first_key(t), panel = kernels.panel;
      packed_keys.emplace_back((n + panel - 1) / panel * panel * sizes.dim, std::nan(""));
      packed_values.emplace_back((sizes.value_dim + panel - 1) / panel * panel * n, std::nan(""));
      kernels.pack_keys(k.data() + first * sizes.dim, type, sizes.dim, n, sizes.dim,
                        packed_keys.back().data());
      kernels.pack_values(v.data() + first * sizes.value_dim, type, sizes.value_dim, n, sizes.value_dim,
                          packed_values.back().data());
    }
  }

  // Runs of keys whose ends never fall; some rows see nothing.
  void draw_ranges(Random& random) {
    const auto kind = random.below(3);
    for (const int n : sizes.keys) {
      std::vector<std::int32_t> from, to;
      int low = 0, high = 0;
      for (int r = 0; r < sizes.rows; ++r) {
        if (kind == 0) low = 0, high = n;
        if (kind == 1) high = std::min(n, high + static_cast<int>(random.below(4)));
        if (kind == 2) {
          high = std::min(n, high + static_cast<int>(random.below(1 + n / 2)));
          low = std::min(n, low + static_cast<int>(random.below(1 + n / 4)));
        }
        from.push_back(low);
        to.push_back(high);
      }
      begin.push_back(from);
      end.push_back(to);
    }
  }

  void draw_rules(Random& random) {
    if (sizes.cap) cap = static_cast<T>(3 * 1.4426950408889634);
    const Index room = sizes.bias || sizes.mask ? 1 + 2 * all_keys : 1;
    bias = Tensor({sizes.rows, room}, sizes.bias_type);
    mask.resize(static_cast<std::size_t>(sizes.rows * room));
    for (Index r = 0; r < sizes.rows; ++r) {
      for (Index j = 0; j < room; ++j)
        bias.view().set(r, j, random.below(9) == 0 ? -INFINITY : random.normal());
    }
    for (auto& m : mask) m = static_cast<std::uint8_t>(random.below(3));  // 2 is true as well
    for (int r = 0; r < sizes.rows; ++r) {
      rule.push_back({static_cast<T>(sizes.alibi ? 0.1 * random.uniform() : 0), random.below(2 * all_keys),
                      sizes.bias
                          ? bias.as<std::byte>() + r * room * static_cast<Index>(size_of(sizes.bias_type))
                          : nullptr,
                      sizes.mask ? mask.data() + r * room : nullptr});
    }
  }

  // Tile t, or a single row of it.
  [[nodiscard]] kernels::Tile<T> tile(std::size_t t, int row = 0, int rows = 0) {
    kernels::Tile<T> tile;
    tile.rows = rows > 0 ? rows : sizes.rows;
    tile.dim = sizes.dim;
    tile.value_dim = columns;
    tile.q = q.data() + row * sizes.dim;
    tile.q_stride = sizes.dim;
    tile.keys = packed_keys[t].data();
    tile.values = packed_values[t].data();
    tile.value_stride = kernels.panel;
    tile.value_panel_stride = static_cast<Index>(kernels.panel) * sizes.keys[t];
    tile.begin = begin[t].data() + row;
    tile.end = end[t].data() + row;
    if (sizes.cap || sizes.alibi || sizes.bias || sizes.mask) {
      tile.rules = {
          T{1}, cap, sizes.alibi, sizes.bias_type, sizes.bias_stride, sizes.mask_stride, rule.data() + row};
    }
    tile.first_key = first_key(t);
    tile.scores = scores.data();
    tile.scores_stride = scores_stride;
    return tile;
  }

  void absorb_all(State<T>& state, bool careful = false, int row = 0, int rows = 0) {
    for (std::size_t t = 0; t < sizes.keys.size(); ++t) {
      kernels.absorb(tile(t, row, rows), state.view(), {.fresh = t == 0, .careful = careful});
    }
  }

  // The logit of a key, in base 2; -inf when row r does not see it.
  [[nodiscard]] double logit(int r, std::size_t t, int j) const {
    if (j < begin[t][static_cast<std::size_t>(r)] || j >= end[t][static_cast<std::size_t>(r)])
      return kNothing;
    const Index key = first_key(t) + j;
    const auto& how = rule[static_cast<std::size_t>(r)];
    double s = 0;
    for (int x = 0; x < sizes.dim; ++x)
      s += static_cast<double>(q[r * sizes.dim + x]) * k[key * sizes.dim + x];
    if (sizes.cap) s = cap * std::tanh(s);
    if (sizes.alibi) s -= how.slope * static_cast<double>(std::abs(how.position - key));
    if (sizes.bias) s += bias.at(r, key * sizes.bias_stride) * 1.4426950408889634;
    if (sizes.mask && how.mask[key * sizes.mask_stride] == 0) s = kNothing;
    return s;
  }
};

// One row's softmax state over all tiles.
struct PlainRow {
  double max = kNothing, sum = 0;
  std::vector<double> acc;
};

template <class T>
[[nodiscard]] PlainRow plain_row(const Tiles<T>& tiles, int r) {
  const TileSizes& s = tiles.sizes;
  PlainRow row;
  row.acc.resize(static_cast<std::size_t>(s.value_dim));
  for (std::size_t t = 0; t < s.keys.size(); ++t)
    for (int j = 0; j < s.keys[t]; ++j) row.max = std::max(row.max, tiles.logit(r, t, j));
  for (std::size_t t = 0; t < s.keys.size(); ++t) {
    for (int j = 0; j < s.keys[t]; ++j) {
      const double logit = tiles.logit(r, t, j);
      if (logit == kNothing) continue;
      const double p = std::exp2(logit - row.max);
      row.sum += p;
      for (int x = 0; x < s.value_dim; ++x) {
        row.acc[static_cast<std::size_t>(x)] += p * tiles.v[(tiles.first_key(t) + j) * s.value_dim + x];
      }
    }
  }
  return row;
}

}  // namespace headlight::testing
