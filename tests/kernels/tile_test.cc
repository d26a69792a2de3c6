// Attention on one tile: packing, absorb, weigh and merge against plain loops, on every target.
#include "tile_fixture.h"

namespace headlight::testing {
namespace {

class TileKernels : public KernelTest {};

template <class T>
constexpr double kSlack = sizeof(T) == 4 ? 2e-5 : 5e-14;

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

// rows × columns with a stride from row to row that may be negative; each element says where it is.
struct Source {
  Tensor memory;
  const std::byte* first;
  Source(int rows, int columns, Index stride, DType type)
      : memory({std::max<Index>(1, rows * std::abs(stride) + columns)}, type), first(memory.as<std::byte>()) {
    const Index zero = stride < 0 ? (rows - 1) * -stride : 0;
    for (Index i = 0; i < rows; ++i)
      for (Index x = 0; x < columns; ++x) memory.view().set(zero + i * stride + x, value(i, x));
    first += zero * static_cast<Index>(size_of(type));
  }
  static double value(Index row, Index column) {
    return static_cast<double>(1 + (row * 7 + column * 3) % 251);
  }
};

std::vector<int> around(int n) { return {1, n - 1, n, n + 1, 2 * n + 3}; }

template <class T>
void check_pack_keys(const kernels::AttentionKernels<T>& kernels) {
  const int panel = kernels.panel;
  for (const DType type : kFloats) {
    for (const int keys : around(panel)) {
      for (const int dim : {1, 3, 4, 63, 64, 65, 130}) {
        for (const Index stride : {Index{dim}, Index{dim} + 5, -Index{dim} - 2}) {
          if (keys <= 0) continue;
          const Source source(keys, dim, stride, type);
          const Index panels = (keys + panel - 1) / panel, size = panels * panel * dim;
          Aligned<T> packed(size + 1, -5);
          kernels.pack_keys(source.first, type, stride, keys, dim, packed.data());
          for (Index j = 0; j < panels * panel; ++j) {
            for (Index x = 0; x < dim; ++x) {
              ASSERT_EQ(packed[j / panel * panel * dim + x * panel + j % panel],
                        j < keys ? Source::value(j, x) : 0)
                  << "key " << j << " column " << x << " of " << keys << " by " << dim << " "
                  << name_of(type);
            }
          }
          ASSERT_EQ(packed[size], -5);
        }
      }
    }
  }
}

TEST_P(TileKernels, PackedKeysAreTransposedPanels) {
  check_pack_keys(of<float>());
  check_pack_keys(of<double>());
}

template <class T>
void check_pack_values(const kernels::AttentionKernels<T>& kernels) {
  const int panel = kernels.panel;
  for (const DType type : kFloats) {
    for (const int dim : around(panel)) {
      for (const int keys : {1, 2, 17}) {
        for (const Index stride : {Index{dim}, Index{dim} + 5, -Index{dim} - 2}) {
          if (dim <= 0) continue;
          const Source source(keys, dim, stride, type);
          const Index panels = (dim + panel - 1) / panel, size = panels * panel * keys;
          Aligned<T> packed(size + 1, -5);
          kernels.pack_values(source.first, type, stride, keys, dim, packed.data());
          for (Index j = 0; j < keys; ++j) {
            for (Index x = 0; x < panels * panel; ++x) {
              ASSERT_EQ(packed[x / panel * panel * keys + j * panel + x % panel],
                        x < dim ? Source::value(j, x) : 0)
                  << "key " << j << " column " << x << " of " << keys << " by " << dim << " "
                  << name_of(type);
            }
          }
          ASSERT_EQ(packed[size], -5);
        }
      }
    }
  }
}

TEST_P(TileKernels, PackedValuesArePanelsOfColumns) {
  check_pack_values(of<float>());
  check_pack_values(of<double>());
}

TEST_P(TileKernels, PackingNothingWritesNothing) {
  float one = 7;
  of<float>().pack_keys(nullptr, DType::f32, 0, 0, 8, &one);
  of<float>().pack_values(nullptr, DType::f32, 0, 8, 0, &one);
  EXPECT_EQ(one, 7);
}

template <class T>
void check_state(Tiles<T>& tiles, State<T>& state, const std::string& what) {
  for (int r = 0; r < tiles.sizes.rows; ++r) {
    const PlainRow row = plain_row(tiles, r);
    if (row.sum == 0) {
      ASSERT_EQ(state.max[r], -std::numeric_limits<T>::infinity()) << what << " row " << r;
      ASSERT_EQ(state.sum[r], 0) << what << " row " << r;
    } else {
      ASSERT_NEAR(state.max[r], row.max, kSlack<T> * (1 + std::abs(row.max))) << what << " row " << r;
      ASSERT_NEAR(state.sum[r], row.sum, kSlack<T> * row.sum * 4) << what << " row " << r;
    }
    for (int x = 0; x < tiles.columns; ++x) {
      const double expected = x < tiles.sizes.value_dim ? row.acc[static_cast<std::size_t>(x)] : 0;
      ASSERT_NEAR(state.acc[r * state.stride + x], expected, kSlack<T> * row.sum * 16)
          << what << " row " << r << " column " << x;
    }
  }
}

template <class T>
void check_absorb(const kernels::AttentionKernels<T>& kernels) {
  Random random(1);
  for (int n = 0; n < 120; ++n) {
    Tiles<T> tiles(kernels, random_sizes(random), random);
    State<T> state(tiles.columns);
    tiles.absorb_all(state);
    check_state(tiles, state, "case " + std::to_string(n));
    if (::testing::Test::HasFatalFailure()) return;

    // Values left where they lie, when they are whole vectors.
    if (tiles.sizes.value_dim % kernels.lanes == 0) {
      State<T> in_place(tiles.columns);
      for (std::size_t t = 0; t < tiles.sizes.keys.size(); ++t) {
        kernels::Tile<T> tile = tiles.tile(t);
        tile.values = tiles.v.data() + tiles.first_key(t) * tiles.sizes.value_dim;
        tile.value_stride = tiles.sizes.value_dim;
        tile.value_panel_stride = kernels.panel;
        kernels.absorb(tile, in_place.view(), {.fresh = t == 0});
      }
      for (int r = 0; r < tiles.sizes.rows; ++r)
        for (int x = 0; x < tiles.columns; ++x)
          ASSERT_TRUE(same_bits(in_place.acc[r * state.stride + x], state.acc[r * state.stride + x]))
              << "case " << n;
    }
  }
}

TEST_P(TileKernels, AbsorbIsTheSoftmaxOfPlainLoops) {
  check_absorb(of<float>());
  check_absorb(of<double>());
}

// `fresh` or a cleared state, careful or not: the same bits.
template <class T>
void check_ways(const kernels::AttentionKernels<T>& kernels) {
  Random random(2);
  for (int n = 0; n < 80; ++n) {
    Tiles<T> tiles(kernels, random_sizes(random), random);
    State<T> state(tiles.columns), cleared(tiles.columns), careful(tiles.columns);
    tiles.absorb_all(state);
    tiles.absorb_all(careful, true);
    cleared.clear();
    for (std::size_t t = 0; t < tiles.sizes.keys.size(); ++t)
      kernels.absorb(tiles.tile(t), cleared.view(), {});
    for (State<T>* other : {&cleared, &careful}) {
      for (int r = 0; r < tiles.sizes.rows; ++r) {
        ASSERT_TRUE(same_bits(state.max[r], other->max[r])) << "case " << n << " row " << r;
        ASSERT_TRUE(same_bits(state.sum[r], other->sum[r])) << "case " << n << " row " << r;
        for (int x = 0; x < tiles.columns; ++x) {
          ASSERT_TRUE(same_bits(state.acc[r * state.stride + x], other->acc[r * state.stride + x]))
              << "case " << n << " row " << r;
        }
      }
    }
  }
}

TEST_P(TileKernels, FreshAndCarefulGiveTheSameBits) {
  check_ways(of<float>());
  check_ways(of<double>());
}

// NaN and Inf in the value of a key reach exactly the rows that see the key.
template <class T>
void check_careful(const kernels::AttentionKernels<T>& kernels) {
  Random random(3);
  int touched = 0, spared = 0;
  for (int n = 0; n < 80; ++n) {
    Tiles<T> tiles(kernels, random_sizes(random), random);
    const auto t = static_cast<std::size_t>(random.below(static_cast<Index>(tiles.sizes.keys.size())));
    const int j = static_cast<int>(random.below(tiles.sizes.keys[t]));
    const Index key = tiles.first_key(t) + j;
    const T bad = static_cast<T>(random.below(2) == 0 ? NAN : INFINITY);
    State<T> before(tiles.columns), after(tiles.columns);
    tiles.absorb_all(before, true);
    for (int x = 0; x < tiles.sizes.value_dim; ++x) tiles.v[key * tiles.sizes.value_dim + x] = bad;
    tiles.pack();
    tiles.absorb_all(after, true);
    for (int r = 0; r < tiles.sizes.rows; ++r) {
      const bool sees = tiles.logit(r, t, j) != kNothing;
      ++(sees ? touched : spared);
      for (int x = 0; x < tiles.sizes.value_dim; ++x) {
        const T y = after.acc[r * after.stride + x];
        if (sees) ASSERT_FALSE(std::isfinite(y)) << "case " << n << " row " << r;
        else ASSERT_TRUE(same_bits(y, before.acc[r * before.stride + x])) << "case " << n << " row " << r;
      }
      ASSERT_TRUE(same_bits(after.sum[r], before.sum[r]));
    }
  }
  EXPECT_GT(touched, 100);
  EXPECT_GT(spared, 100);
}

TEST_P(TileKernels, CarefulKeepsNanWhereItIsSeen) {
  check_careful(of<float>());
  check_careful(of<double>());
}

// A row alone has the bits it has among any number of neighbours: every height of a strip, each with
// one and with two vectors.
template <class T>
void check_strips(const kernels::AttentionKernels<T>& kernels) {
  Random random(4);
  for (int rows = 1; rows <= 2 * kernels.strip + 1; ++rows) {
    for (const int vectors : {1, 2, 3}) {
      for (int n = 0; n < 6; ++n) {
        TileSizes sizes = random_sizes(random);
        sizes.rows = rows;
        sizes.value_dim = vectors * kernels.lanes - static_cast<int>(random.below(kernels.lanes));
        for (int& keys : sizes.keys)
          keys = vectors * kernels.lanes + static_cast<int>(random.below(kernels.lanes));
        Tiles<T> tiles(kernels, sizes, random);
        State<T> all(tiles.columns);
        tiles.absorb_all(all);
        for (int r = 0; r < rows; ++r) {
          State<T> one(tiles.columns);
          tiles.absorb_all(one, false, r, 1);
          ASSERT_TRUE(same_bits(all.max[r], one.max[0])) << "row " << r << " of " << rows;
          ASSERT_TRUE(same_bits(all.sum[r], one.sum[0])) << "row " << r << " of " << rows;
          for (int x = 0; x < tiles.columns; ++x) {
            ASSERT_TRUE(same_bits(all.acc[r * all.stride + x], one.acc[x]))
                << "row " << r << " of " << rows << " column " << x;
          }
        }
      }
    }
  }
}

TEST_P(TileKernels, ARowDoesNotKnowItsNeighbours) {
  check_strips(of<float>());
  check_strips(of<double>());
}

// absorb() keeps the logits of the run a row sees; weigh() and weigh_kept() make the same weights of
// them, and weigh() the moment that the entropy needs.
template <class T>
void check_weights(const kernels::AttentionKernels<T>& kernels) {
  Random random(5);
  constexpr T kUntouched = T{-99};
  for (int n = 0; n < 80; ++n) {
    Tiles<T> tiles(kernels, random_sizes(random), random);
    State<T> state(tiles.columns);
    const Index width = kMaxTileKeys + 16;
    const int rows = tiles.sizes.rows;
    std::vector<std::vector<T>> kept(tiles.sizes.keys.size(),
                                     std::vector<T>(static_cast<std::size_t>(rows * width), kUntouched));
    for (std::size_t t = 0; t < kept.size(); ++t) {
      std::vector<T*> keep;
      for (int r = 0; r < rows; ++r) keep.push_back(kept[t].data() + r * width);
      kernels.absorb(tiles.tile(t), state.view(), {.fresh = t == 0, .keep = keep.data()});
    }
    std::vector<T> shift, factor, moment(static_cast<std::size_t>(rows), T{0});
    std::vector<PlainRow> plain;
    for (int r = 0; r < rows; ++r) {
      plain.push_back(plain_row(tiles, r));
      shift.push_back(state.max[r]);
      factor.push_back(state.sum[r] == 0 ? T{0} : 1 / state.sum[r]);
    }
    std::vector<double> expected_moment(static_cast<std::size_t>(rows), 0.0);
    for (std::size_t t = 0; t < kept.size(); ++t) {
      const kernels::Tile<T> tile = tiles.tile(t);
      kernels.weigh(tile, shift.data(), factor.data(), moment.data());
      for (int r = 0; r < rows; ++r) {
        const auto at = static_cast<std::size_t>(r);
        const PlainRow& row = plain[at];
        T* logits = kept[t].data() + r * width;
        for (int j = 0; j < static_cast<int>(width); ++j) {
          if (j < tile.begin[r] || j >= tile.end[r]) {
            ASSERT_EQ(logits[j], kUntouched) << "key " << j;
            continue;
          }
          const double logit = tiles.logit(r, t, j);
          if (logit == kNothing) ASSERT_EQ(logits[j], -std::numeric_limits<T>::infinity());
          else
            ASSERT_NEAR(logits[j], logit, kSlack<T> * (1 + std::abs(logit))) << "case " << n << " key " << j;
        }
        const T* weights = tile.scores + r * tile.scores_stride;
        const int begin = tile.begin[r], end = std::max(begin, tile.end[r]);
        kernels.weigh_kept(logits + begin, end - begin, T{1}, shift[at], factor[at]);
        for (int j = begin; j < end; ++j) {
          const double logit = tiles.logit(r, t, j);
          if (logit == kNothing) {
            ASSERT_EQ(weights[j], -1) << "case " << n << " key " << j;
            ASSERT_EQ(logits[j], 0) << "case " << n << " key " << j;
            continue;
          }
          const double w = std::exp2(logit - row.max) / row.sum;
          ASSERT_NEAR(weights[j], w, kSlack<T> * 16) << "case " << n << " key " << j;
          ASSERT_TRUE(same_bits(weights[j], logits[j])) << "case " << n << " key " << j;
          expected_moment[at] += w * (logit - row.max);
        }
      }
    }
    for (std::size_t r = 0; r < moment.size(); ++r)
      ASSERT_NEAR(moment[r], expected_moment[r], kSlack<T> * 64) << "case " << n;
  }
}

TEST_P(TileKernels, WeightsKeptAndRecomputedAgree) {
  check_weights(of<float>());
  check_weights(of<double>());
}

TEST_P(TileKernels, WeighKeptOfAnyLength) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (Index n = 0; n <= 70; ++n) {
    std::vector<float> x(static_cast<std::size_t>(n + 1), kHidden);
    for (Index i = 0; i < n; i += 2) x[static_cast<std::size_t>(i)] = static_cast<float>(-i);
    of<float>().weigh_kept(x.data(), n, 1.0f, 1.0f, 4.0f);
    for (Index i = 0; i < n; ++i) {
      ASSERT_EQ(x[static_cast<std::size_t>(i)], i % 2 == 0 ? std::ldexp(1.0f, static_cast<int>(1 - i)) : 0.0f)
          << i << " of " << n;
    }
    ASSERT_EQ(x.back(), kHidden);
    // In a row of NaN a hidden key still has weight zero.
    std::vector<float> y(static_cast<std::size_t>(n), kHidden);
    of<float>().weigh_kept(y.data(), n, 1.0f, NAN, NAN);
    for (const float w : y) ASSERT_EQ(w, 0.0f);
  }
}

template <class T>
void check_merge(const kernels::AttentionKernels<T>& kernels) {
  Random random(6);
  for (int n = 0; n < 80; ++n) {
    TileSizes sizes = random_sizes(random);
    sizes.keys = {1 + static_cast<int>(random.below(60)), 1 + static_cast<int>(random.below(60))};
    Tiles<T> tiles(kernels, sizes, random);
    State<T> whole(tiles.columns), first(tiles.columns), second(tiles.columns), empty(tiles.columns);
    tiles.absorb_all(whole);
    kernels.absorb(tiles.tile(0), first.view(), {.fresh = true});
    kernels.absorb(tiles.tile(1), second.view(), {.fresh = true});
    empty.clear();

    const State<T> alone_first = [&] {
      State<T> copy(tiles.columns);
      std::copy(first.max.begin(), first.max.end(), copy.max.begin());
      std::copy(first.sum.begin(), first.sum.end(), copy.sum.begin());
      std::copy(first.acc.begin(), first.acc.end(), copy.acc.begin());
      return copy;
    }();
    const auto expect_first = [&](State<T>& found, const char* what) {
      for (int r = 0; r < sizes.rows; ++r) {
        ASSERT_TRUE(same_bits(found.max[r], alone_first.max[r])) << what << " row " << r;
        ASSERT_TRUE(same_bits(found.sum[r], alone_first.sum[r])) << what << " row " << r;
        for (int x = 0; x < tiles.columns; ++x) {
          ASSERT_TRUE(same_bits(found.acc[r * found.stride + x], alone_first.acc[r * found.stride + x]))
              << what << " row " << r;
        }
      }
    };
    kernels.merge(first.view(), empty.view(), T{1}, sizes.rows, tiles.columns);
    expect_first(first, "nothing added");
    State<T> taken(tiles.columns);
    taken.clear();
    kernels.merge(taken.view(), first.view(), T{1}, sizes.rows, tiles.columns);
    expect_first(taken, "added to nothing");

    kernels.merge(first.view(), second.view(), T{1}, sizes.rows, tiles.columns);
    check_state(tiles, first, "merged, case " + std::to_string(n));
    if (::testing::Test::HasFatalFailure()) return;
  }
  // Nothing and nothing is nothing, not NaN.
  State<T> a(16), b(16);
  a.clear();
  b.clear();
  kernels.merge(a.view(), b.view(), T{1}, kMaxRows, 16);
  for (int r = 0; r < kMaxRows; ++r) {
    ASSERT_EQ(a.max[r], -std::numeric_limits<T>::infinity());
    ASSERT_EQ(a.sum[r], 0);
    ASSERT_EQ(a.acc[r * a.stride], 0);
  }
}

TEST_P(TileKernels, MergeAddsRunsOfKeys) {
  check_merge(of<float>());
  check_merge(of<double>());
}

INSTANTIATE_TEST_SUITE_P(Targets, TileKernels, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
