// Statistics recomputed from q, k and lse: any section of a weight matrix, sums over rows and keys, and
// pooled maps. Never stores more than one tile of weights.
#include "attention/statistics.h"

#include <type_traits>
#include <vector>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/thread_pool.h"

namespace headlight {
namespace {

// Elements of T that fit in one double.
template <class T>
constexpr Index kPerDouble = std::is_same_v<T, double> ? 1 : 2;

// The tile plan of the forward pass, whose sums are repeated. If the call has no v, v counts as wide as k.
// No element of v is read.
template <class T>
[[nodiscard]] TilePlan sweep_plan(const Problem& problem, const kernels::AttentionKernels<T>& kernels) {
  TilePlan plan = tile_plan(problem.dim, problem.value_dim > 0 ? problem.value_dim : problem.dim, kernels);
  plan.value_dim = 0;
  return plan;
}

template <class T>
struct Sweep {
  Context& ctx;
  const Problem& problem;
  const kernels::AttentionKernels<T>& kernels;
  TilePlan plan;
  KeyReader<T> keys;
  std::size_t bytes;

  // `extra` elements of T in addition to the packed keys of one segment, for each worker.
  Sweep(Context& the_ctx, const Problem& the_problem, Index extra)
      : ctx(the_ctx),
        problem(the_problem),
        kernels(kernels_of<T>(ctx, problem)),
        plan(sweep_plan(problem, kernels)),
        keys(problem, plan, kernels, false),
        bytes(Workspace<T>::bytes(problem, plan, static_cast<std::size_t>(packed_keys() + extra))) {
    for (int w = 0; w < ctx.threads(); ++w) (void)ctx.scratch(w, bytes);
  }
  [[nodiscard]] Index packed_keys() const { return keys.elements(plan.segment_keys); }
  [[nodiscard]] Workspace<T> workspace(int worker) {
    return Workspace<T>(ctx.scratch(worker, bytes), problem, plan);
  }
  [[nodiscard]] T* extra(const Workspace<T>& space) const { return space.packed + packed_keys(); }

  // From the tile of range.begin on.
  [[nodiscard]] KeySource<T> packed(const Unit& unit, Range range, const Workspace<T>& space) const {
    return keys.read(unit, {range.begin / plan.tile_keys * plan.tile_keys, range.end}, space.packed);
  }
};

template <class T>
void scales_from_lse(const Sweep<T>& sweep, const ConstTensorView& lse, const Block<T>& block,
                     const Workspace<T>& space, RowScale<T>* scale) {
  const auto source_for = [&](Range range) { return sweep.packed(block.unit, range, space); };
  scales_from_lse(block, lse, space, sweep.plan.segment_keys, source_for, scale, ScaleFrom::sum);
}

// Weights of the slice's rows `queries` tile by tile: use(row, query, first_key, begin, end, weights).
template <class T, class Use>
void sweep_slice(Sweep<T>& sweep, const ConstTensorView& lse, const WeightSlice& slice, Range queries,
                 const Workspace<T>& space, const Use& use) {
  const Problem& problem = sweep.problem;
  const Unit unit{problem.sequence(slice.batch), slice.head / problem.group, slice.head, 1};
  for (Index first = queries.begin; first < queries.end; first += kBlockRows) {
    Block<T> block(problem, sweep.plan, sweep.kernels, unit, first, queries.end, space);
    T shift[kBlockRows], factor[kBlockRows];
    RowScale<T> scale[kBlockRows];
    scales_from_lse(sweep, lse, block, space, scale);
    for (int r = 0; r < block.rows; ++r) {
      shift[r] = scale[r].shift;
      factor[r] = scale[r].factor;
      block.keys[r] = {std::max(block.keys[r].begin, slice.keys.begin),
                       std::min(block.keys[r].end, slice.keys.end)};
    }
    for_each_segment(block, [&](Range range) {
      range = {std::max(range.begin, slice.keys.begin), std::min(range.end, slice.keys.end)};
      if (range.size() <= 0) return;
      block.for_each_tile(range, sweep.packed(unit, range, space), space, [&](const kernels::Tile<T>& tile) {
        sweep.kernels.weigh(tile, shift, factor, nullptr);
        for (int r = 0; r < block.rows; ++r) {
          if (tile.begin[r] >= tile.end[r]) continue;
          T* row = tile.scores + r * tile.scores_stride;
          for (int j = tile.begin[r]; j < tile.end[r]; ++j) row[j] = row[j] < 0 ? T{0} : row[j];
          use(first + r, tile.first_key, tile.begin[r], tile.end[r], row);
        }
      });
    });
  }
}

template <class T>
void weights_of_slice(Context& ctx, const Problem& problem, const ConstTensorView& lse,
                      const WeightSlice& slice, const TensorView& weights) {
  Sweep<T> sweep(ctx, problem, 0);
  const Index blocks = (slice.queries.size() + kBlockRows - 1) / kBlockRows;
  ctx.pool().run(blocks, ctx.threads(), [&](int worker, Index task) {
    const Index first = slice.queries.begin + task * kBlockRows;
    const Range rows{first, std::min(slice.queries.end, first + kBlockRows)};
    for (Index i = rows.begin; i < rows.end; ++i) {
      T* row = weights.as<T>() + (i - slice.queries.begin) * weights.stride(0);
      std::fill(row, row + slice.keys.size(), T{0});
    }
    sweep_slice(sweep, lse, slice, rows, sweep.workspace(worker),
                [&](Index query, Index first_key, int begin, int end, const T* from) {
                  T* row = weights.as<T>() + (query - slice.queries.begin) * weights.stride(0);
                  std::copy(from + begin, from + end, row + first_key + begin - slice.keys.begin);
                });
  });
}

template <class T>
void heat_map_of_slice(Context& ctx, const Problem& problem, const ConstTensorView& lse,
                       const WeightSlice& slice, Pool pool, const TensorView& map) {
  const Index map_rows = map.dim(0), map_columns = map.dim(1);
  const Index doubles = map_columns * kPerDouble<T>;
  Sweep<T> sweep(ctx, problem, doubles);
  const auto band = [](Range whole, Index parts, Index i) {
    return Range{whole.begin + whole.size() * i / parts, whole.begin + whole.size() * (i + 1) / parts};
  };
  ctx.pool().run(map_rows, ctx.threads(), [&](int worker, Index task) {
    const Workspace<T> space = sweep.workspace(worker);
    auto* cells = reinterpret_cast<double*>(sweep.extra(space));
    std::fill(cells, cells + map_columns, 0.0);
    const Range rows = band(slice.queries, map_rows, task);
    sweep_slice(sweep, lse, slice, rows, space,
                [&](Index, Index first_key, int begin, int end, const T* from) {
                  // The first column whose block ends after this key; columns only advance from here.
                  Index column = (first_key + begin - slice.keys.begin) * map_columns / slice.keys.size();
                  Index last = band(slice.keys, map_columns, column).end;
                  for (int j = begin; j < end; ++j) {
                    while (first_key + j >= last) last = band(slice.keys, map_columns, ++column).end;
                    const double w = from[j];
                    cells[column] = pool == Pool::mean ? cells[column] + w : std::max(cells[column], w);
                  }
                });
    for (Index c = 0; c < map_columns; ++c) {
      const double area =
          static_cast<double>(rows.size()) * static_cast<double>(band(slice.keys, map_columns, c).size());
      map.set(task, c, pool == Pool::mean ? cells[c] / area : cells[c]);
    }
  });
}

template <class T>
void statistics_from_lse(Context& ctx, const Problem& problem, const ConstTensorView& lse,
                         const AttentionOutputs& outputs) {
  Sweep<T> sweep(ctx, problem, 0);
  const ScaleTable<T> scales =
      outputs.received.empty() ? ScaleTable<T>() : ScaleTable<T>::reserve(ctx, problem);
  const Index blocks = (problem.q_longest * problem.group + kBlockRows - 1) / kBlockRows;
  ctx.pool().run(problem.sequences * problem.kv_heads * blocks, ctx.threads(), [&](int worker, Index task) {
    const Unit unit = unit_of(problem, task / blocks);
    const Index first = task % blocks * kBlockRows;
    if (first >= unit.rows()) return;
    const Workspace<T> space = sweep.workspace(worker);
    const Block<T> block(problem, sweep.plan, sweep.kernels, unit, first, unit.rows(), space);
    RowScale<T> scale[kBlockRows];
    scales_from_lse(sweep, lse, block, space, scale);
    for (int r = 0; r < block.rows; ++r) write_scale(block, r, scale[r], outputs, scales);
    if (wants_row_statistics(outputs)) {
      row_statistics(
          block, space, [&](Range range) { return sweep.packed(unit, range, space); }, scale, outputs);
    }
  });
  if (!outputs.received.empty()) attention_received(ctx, problem, scales, outputs.received);
}

}  // namespace

template <class T>
void attention_received(Context& ctx, const Problem& problem, const ScaleTable<T>& scales,
                        const TensorView& received) {
  const Index width = sweep_plan(problem, kernels_of<T>(ctx, problem)).tile_keys;
  Sweep<T> sweep(ctx, problem, problem.group * width * kPerDouble<T>);
  const Index tiles =
      std::max<Index>(1, sweep.plan.tiles(problem.packed ? problem.k_longest : problem.k_total));
  ctx.pool().run(problem.sequences * problem.kv_heads * tiles, ctx.threads(), [&](int worker, Index task) {
    const Unit unit = unit_of(problem, task / tiles);
    const Sequence& sequence = unit.sequence;
    const Workspace<T> space = sweep.workspace(worker);
    auto* sums = reinterpret_cast<double*>(sweep.extra(space));
    std::fill(sums, sums + problem.group * width, 0.0);
    const Index begin = task % tiles * width;
    const Range range{begin, std::min(begin + width, sequence.k_len)};
    const Index rows = range.size() > 0 ? unit.rows() : 0;
    const KeySource<T> source = range.size() > 0 ? sweep.packed(unit, range, space) : KeySource<T>();
    for (Index first = 0; first < rows; first += kBlockRows) {
      const Block<T> block(problem, sweep.plan, sweep.kernels, unit, first, rows, space);
      T shift[kBlockRows], factor[kBlockRows];
      for (int r = 0; r < block.rows; ++r) {
        const T* scale = scales.at(sequence.item, block.head[r], block.query[r]);
        shift[r] = scale[0];
        factor[r] = scale[1];
      }
      block.for_each_tile(range, source, space, [&](const kernels::Tile<T>& tile) {
        sweep.kernels.weigh(tile, shift, factor, nullptr);
        for (int r = 0; r < block.rows; ++r) {
          double* sum = sums + (block.head[r] - unit.first_head) * width;
          const T* row = tile.scores + r * tile.scores_stride;
          for (int j = tile.begin[r]; j < tile.end[r]; ++j)
            sum[j] += row[j] < 0 ? 0.0 : static_cast<double>(row[j]);
        }
      });
    }
    for (Index g = 0; g < problem.group; ++g) {
      T* to = received.as<T>() + row_offset(received, sequence.batch, unit.first_head + g, 0);
      for (Index key = begin; key < std::min(begin + width, sequence.k_rows); ++key) {
        to[(sequence.k_start + key) * received.stride(2)] = static_cast<T>(sums[g * width + key - begin]);
      }
    }
  });
}

template void attention_received<float>(Context&, const Problem&, const ScaleTable<float>&,
                                        const TensorView&);
template void attention_received<double>(Context&, const Problem&, const ScaleTable<double>&,
                                         const TensorView&);

void attention_weights(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView lse,
                       const AttentionOptions& options, const WeightSlice& slice, TensorView weights) {
  const char* who = "attention_weights";
  const Problem problem = check_call(who, q, k, {}, options);
  check_lse(who, problem, lse);
  check_slice(who, problem, slice);
  check_matrix(who, problem, lse, "weights", weights, slice.queries.size(), slice.keys.size());
  const CallScope scope(ctx);
  if (slice.queries.size() == 0 || slice.keys.size() == 0) return;
  compute_in(problem.dtype, [&]<class T>() { weights_of_slice<T>(ctx, problem, lse, slice, weights); });
}

void attention_heat_map(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView lse,
                        const AttentionOptions& options, const WeightSlice& slice, Pool pool,
                        TensorView map) {
  const char* who = "attention_heat_map";
  const Problem problem = check_call(who, q, k, {}, options);
  check_lse(who, problem, lse);
  check_slice(who, problem, slice);
  if (map.rank() == 2 && (map.dim(0) > slice.queries.size() || map.dim(1) > slice.keys.size())) {
    throw Error(ErrorKind::input, "attention.output",
                concat(who, ": map is ", map.shape().text(), " but the slice has ", slice.queries.size(),
                       " queries and ", slice.keys.size(), " keys; need a map no larger than the slice"));
  }
  check_matrix(who, problem, lse, "map", map, -1, -1);
  const CallScope scope(ctx);
  if (map.dim(0) == 0 || map.dim(1) == 0) return;
  compute_in(problem.dtype, [&]<class T>() { heat_map_of_slice<T>(ctx, problem, lse, slice, pool, map); });
}

void attention_statistics(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView lse,
                          const AttentionOptions& options, const AttentionStatistics& wanted) {
  const char* who = "attention_statistics";
  const Problem problem = check_call(who, q, k, {}, options);
  const AttentionOutputs outputs{.out = {},
                                 .max = wanted.max,
                                 .entropy = wanted.entropy,
                                 .sink_weight = wanted.sink_weight,
                                 .topk_index = wanted.topk_index,
                                 .topk_weight = wanted.topk_weight,
                                 .received = wanted.received};
  check_lse(who, problem, lse);
  check_outputs(who, problem, outputs);
  const CallScope scope(ctx);
  compute_in(problem.dtype, [&]<class T>() { statistics_from_lse<T>(ctx, problem, lse, outputs); });
}

}  // namespace headlight
