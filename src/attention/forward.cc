// The forward driver: cuts a call into units, packs keys and values, hands blocks of rows to the
// pool. What is computed for a row never depends on who computes it or what else is in the call.
#include <atomic>

#include "attention/forward_block.h"
#include "core/float_mode.h"
#include "core/thread_pool.h"
#include "headlight/attention.h"
#include "kernels/kernels.h"

namespace headlight {
namespace {

// Below this many multiply-adds waking another thread costs more than it brings.
constexpr double kSerialWork = 4e5;
// Packed keys and values that one worker keeps to itself, and that all share at a time.
constexpr Index kLocalBytes = Index{1} << 20, kSharedBytes = Index{40} << 20;

template <class T>
class Forward {
 public:
  Forward(Context& ctx, const Problem& problem, const AttentionOutputs& outputs)
      : ctx_(ctx),
        problem_(problem),
        outputs_(outputs),
        kernels_(kernels::kernels_for(ctx.target()).of<T>()),
        plan_(tile_plan(problem, kernels_)),
        columns_((plan_.value_dim + kernels_.panel - 1) / kernels_.panel * kernels_.panel),
        blocks_(problem, outputs, kernels_, plan_) {}

  void run() {
    const Index units = problem_.sequences * problem_.kv_heads;
    const Index rows = problem_.q_longest * problem_.group;
    if (units == 0 || rows == 0) {
      if (!outputs_.received.empty()) attention_received(ctx_, problem_, blocks_.scales, outputs_.received);
      return;
    }
    const double work = static_cast<double>(units * rows) * static_cast<double>(problem_.k_longest) *
                        static_cast<double>(problem_.dim + problem_.value_dim);
    const int workers = work < kSerialWork ? 1 : ctx_.threads();
    const Index unit_bytes = packed_elements(problem_.k_longest) * static_cast<Index>(sizeof(T));
    const Index segments = (problem_.k_longest + plan_.segment_keys - 1) / plan_.segment_keys;
    if (!outputs_.weights.empty() && problem_.packed) clear_weights_padding();
    if (!outputs_.received.empty()) blocks_.scales = ScaleTable<T>::reserve(ctx_, problem_);
    compute(units, rows, segments, unit_bytes, workers);
    if (!outputs_.received.empty()) attention_received(ctx_, problem_, blocks_.scales, outputs_.received);
  }

 private:
  void compute(Index units, Index rows, Index segments, Index unit_bytes, int workers) {
    if (rows <= kBlockRows) {
      if (segments > 1 && workers > 1 && units < 4 * workers && !wants_row_statistics(outputs_)) {
        if (run_segments(units, segments, workers)) return;
      }
      run_streaming(units, workers);
    } else if (unit_bytes <= kLocalBytes && (workers == 1 || units >= 8 * workers)) {
      run_local(units, workers);
    } else {
      run_shared(units, workers, std::max<Index>(1, kSharedBytes / std::max<Index>(1, unit_bytes)));
    }
  }

  [[nodiscard]] Index packed_elements(Index keys) const {
    return (keys + kernels_.panel) * (problem_.dim + columns_);
  }

  // Short sequences use the values where they lie: copying them would cost as much as using them.
  [[nodiscard]] bool values_in_place() const {
    return problem_.dtype == (sizeof(T) == 4 ? DType::f32 : DType::f64) && problem_.k_longest <= 64 &&
           problem_.value_dim % kernels_.lanes == 0;
  }

  // Packs keys [range) of a unit at `memory`.
  [[nodiscard]] KeySource<T> packed(const Unit& unit, Range range, T* memory) const {
    KeySource<T> source = packed_at(unit, range, memory);
    pack(problem_, plan_, kernels_, unit, range, memory,
         source.values_in_place ? nullptr : values_at(range, memory));
    return source;
  }
  [[nodiscard]] T* values_at(Range range, T* memory) const {
    return memory + (range.size() + kernels_.panel - 1) / kernels_.panel * kernels_.panel * problem_.dim;
  }
  [[nodiscard]] KeySource<T> packed_at(const Unit& unit, Range range, T* memory) const {
    KeySource<T> source;
    source.keys = memory;
    source.first_key = range.begin;
    source.end_key = range.end;
    source.values_in_place = values_in_place();
    source.values = values_at(range, memory);
    if (source.values_in_place) {
      const ConstTensorView& v = problem_.v;
      source.value_stride = v.stride(2);
      source.values = v.as<T>() + unit.sequence.batch * v.stride(0) + unit.kv_head * v.stride(1) +
                      (unit.sequence.k_start + range.begin) * v.stride(2);
    }
    return source;
  }

  [[nodiscard]] Index unit_rows(const Unit& unit) const { return unit.sequence.q_rows * problem_.group; }

  // All memory is asked for before the work begins: a task cannot fail.
  void reserve_workers(int workers, Index packed) {
    bytes_ = Workspace<T>::bytes(problem_, plan_, static_cast<std::size_t>(packed));
    for (int w = 0; w < workers; ++w) (void)ctx_.scratch(w, bytes_);
  }
  [[nodiscard]] Workspace<T> workspace(int worker) {
    return Workspace<T>(ctx_.scratch(worker, bytes_), problem_, plan_);
  }

  // What this worker probably takes next, and where it will write what it has.
  [[nodiscard]] kernels::FetchAhead soon(Index number, Index next) const {
    kernels::FetchAhead ahead;
    if (problem_.packed) return ahead;
    const auto add = [&](const ConstTensorView& view, Index unit) {
      constexpr Index kMost = 32 << 10;
      const auto size = static_cast<Index>(size_of(view.dtype()));
      const Index row = view.dim(3) * size, batch = unit / problem_.kv_heads, head = unit % problem_.kv_heads;
      if (row == 0 || view.dim(2) == 0 || row * view.dim(2) > kMost) return;
      ahead.regions[ahead.size++] = {
          view.as<char>() + (batch * view.stride(0) + head * view.stride(1)) * size, view.stride(2) * size,
          static_cast<int>(view.dim(2)),
          static_cast<int>((row + kernels::FetchAhead::kLine - 1) / kernels::FetchAhead::kLine)};
    };
    if (problem_.group == 1 && !outputs_.out.empty()) add(outputs_.out, number);
    if (next >= problem_.sequences * problem_.kv_heads) return ahead;
    add(problem_.k, next);
    if (problem_.group == 1) add(problem_.q, next);
    add(problem_.v, next);
    return ahead;
  }

  // A task is a whole unit: its packed keys never leave the worker's cache.
  void run_local(Index units, int workers) {
    reserve_workers(workers, packed_elements(problem_.k_longest));
    ctx_.pool().run(units, workers, [&](int worker, Index number) {
      const Unit unit = unit_of(problem_, number);
      const Workspace<T> space = workspace(worker);
      const KeySource<T> source = packed(unit, {0, unit.sequence.k_len}, space.packed);
      for (Index first = 0; first < unit_rows(unit); first += kBlockRows) {
        forward_block(unit, first, space, [&](Range) { return source; });
      }
    });
  }

  // All workers pack, then all take blocks of rows; last rows first, as under a causal mask those
  // are the longest. As many units at a time as fit the shared memory.
  void run_shared(Index units, int workers, Index at_once) {
    at_once = std::min(at_once, units);
    reserve_workers(workers, 0);
    const Index size = packed_elements(problem_.k_longest);
    T* memory = reinterpret_cast<T*>(
        ctx_.scratch(Context::kShared, static_cast<std::size_t>(size * at_once) * sizeof(T)));
    const Index tiles = plan_.tiles(problem_.k_longest);
    const Index blocks = (problem_.q_longest * problem_.group + kBlockRows - 1) / kBlockRows;
    for (Index start = 0; start < units; start += at_once) {
      const Index now = std::min(at_once, units - start);
      ctx_.pool().run(now * tiles, workers, [&](int, Index task) {
        const Unit unit = unit_of(problem_, start + task / tiles);
        const Index keys = unit.sequence.k_len, first = task % tiles * plan_.tile_keys;
        if (first >= keys) return;
        const Range whole{0, keys}, tile{first, std::min(keys, first + plan_.tile_keys)};
        T* base = memory + task / tiles * size;
        pack(problem_, plan_, kernels_, unit, tile, base + first * problem_.dim,
             values_in_place() ? nullptr : values_at(whole, base) + first * columns_);
      });
      ctx_.pool().run(now * blocks, workers, [&](int worker, Index task) {
        const Unit unit = unit_of(problem_, start + task / blocks);
        const Index first = (blocks - 1 - task % blocks) * kBlockRows;
        if (first >= unit_rows(unit)) return;
        const KeySource<T> source = packed_at(unit, {0, unit.sequence.k_len}, memory + task / blocks * size);
        forward_block(unit, first, workspace(worker), [&](Range) { return source; });
      });
    }
  }

  // Few rows: a task is a unit, and its keys are packed one segment at a time, just before their use.
  void run_streaming(Index units, int workers) {
    reserve_workers(workers, packed_elements(std::min(problem_.k_longest, plan_.segment_keys)));
    ctx_.pool().run(units, workers, [&](int worker, Index number) {
      const Unit unit = unit_of(problem_, number);
      Workspace<T> space = workspace(worker);
      kernels::FetchAhead ahead;
      if (units > 1) {
        ahead = soon(number, number + workers);
        space.ahead = &ahead;
      }
      forward_block(unit, 0, space, [&](Range range) { return packed(unit, range, space.packed); });
    });
  }

  // Few rows, few units, many keys: a task is one segment of one unit, so that one sequence can use
  // every core. Segments are merged in key order. False when hidden NaN or Inf may have leaked: the
  // caller then starts again, the careful way.
  [[nodiscard]] bool run_segments(Index units, Index segments, int workers) {
    reserve_workers(workers, packed_elements(plan_.segment_keys));
    const Index stride = Workspace<T>::padded_columns(plan_), room = 2 * kBlockRows + kBlockRows * stride;
    T* memory = reinterpret_cast<T*>(
        ctx_.scratch(Context::kShared, static_cast<std::size_t>(units * segments * room) * sizeof(T)));
    const auto state_of = [&](Index task) {
      T* at = memory + task * room;
      return kernels::SoftmaxState<T>{at, at + kBlockRows, at + 2 * kBlockRows, stride};
    };
    const auto block_of = [&](const Unit& unit, const Workspace<T>& space) {
      return Block<T>(problem_, plan_, kernels_, unit, 0, static_cast<int>(unit_rows(unit)), space);
    };
    ctx_.pool().run(units * segments, workers, [&](int worker, Index task) {
      const Unit unit = unit_of(problem_, task / segments);
      const Workspace<T> space = workspace(worker);
      const Block<T> block = block_of(unit, space);
      const Index begin = task % segments * plan_.segment_keys;
      const Range range{begin, std::min(begin + plan_.segment_keys, block.all_keys.end)};
      if (range.size() <= 0 || range.end <= block.all_keys.begin)
        return blocks_.reset(state_of(task), block.rows);
      T* keep[kBlockRows];
      blocks_.absorb_range(block, range, packed(unit, range, space.packed), space, state_of(task),
                           blocks_.kept_rows(block, keep), false);
    });
    std::atomic<bool> finite{true};
    ctx_.pool().run(units, workers, [&](int worker, Index number) {
      const Unit unit = unit_of(problem_, number);
      const Workspace<T> space = workspace(worker);
      const Block<T> block = block_of(unit, space);
      const kernels::SoftmaxState<T> total = state_of(number * segments);
      for (Index s = 1; s < segments; ++s) {
        kernels_.merge(total, state_of(number * segments + s), block.rules.unit, block.rows, plan_.value_dim);
      }
      RowScale<T> scale[kBlockRows];
      if (!blocks_.finish(block, total, scale)) finite.store(false);
    });
    return finite.load();
  }

  // Rows of the weights that no sequence of a packed batch has.
  void clear_weights_padding() const {
    const TensorView& w = outputs_.weights;
    for (Index s = 0; s < problem_.sequences; ++s) {
      for (Index h = 0; h < problem_.q_heads; ++h) {
        for (Index i = problem_.sequence(s).q_rows; i < problem_.q_longest; ++i) {
          T* row = w.as<T>() + s * w.stride(0) + h * w.stride(1) + i * w.stride(2);
          std::fill(row, row + problem_.k_longest, T{0});
        }
      }
    }
  }

  template <class SourceFor>
  void forward_block(const Unit& unit, Index first, const Workspace<T>& space,
                     const SourceFor& source_for) const {
    const int rows = static_cast<int>(std::min<Index>(kBlockRows, unit_rows(unit) - first));
    blocks_.run(Block<T>(problem_, plan_, kernels_, unit, first, rows, space), space, source_for);
  }

  Context& ctx_;
  const Problem& problem_;
  const AttentionOutputs& outputs_;
  const kernels::AttentionKernels<T>& kernels_;
  const TilePlan plan_;
  const Index columns_;
  std::size_t bytes_ = 0;
  ForwardBlock<T> blocks_;
};

}  // namespace

void attention_forward(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, const AttentionOutputs& outputs) {
  const Problem problem = check_call("attention", q, k, v, options);
  check_outputs("attention", problem, outputs);
  const DefaultFloatMode float_mode;
  if (problem.dtype == DType::f64) Forward<double>(ctx, problem, outputs).run();
  else Forward<float>(ctx, problem, outputs).run();
}

void attention_forward(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, TensorView out, TensorView lse) {
  attention_forward(ctx, q, k, v, options, AttentionOutputs{.out = out, .lse = lse});
}

AttentionResult attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                          const AttentionOptions& options) {
  const Problem problem = check_call("attention", q, k, v, options);
  AttentionResult result{
      Tensor({q.dim(0), q.dim(1), q.dim(2), v.dim(3)}, q.dtype()),
      Tensor({q.dim(0), q.dim(1), q.dim(2)}, problem.dtype == DType::f64 ? DType::f64 : DType::f32)};
  attention_forward(default_context(), q, k, v, options, result.out, result.lse);
  return result;
}

}  // namespace headlight
