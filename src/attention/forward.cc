// The forward driver: cuts a call into units, reads keys and values, hands blocks of rows to the pool. What
// is computed for a row never depends on the worker or on the rest of the call.
#include <atomic>
#include <thread>

#include "attention/fetch_next.h"
#include "attention/forward_block.h"
#include "attention/part.h"
#include "attention/short_units.h"
#include "core/call_scope.h"
#include "core/thread_pool.h"
#include "headlight/attention.h"

namespace headlight {
namespace {

// Below this many multiply-adds, waking another thread costs more than it saves.
constexpr double kSerialWork = 4e5;
// Limits of packed keys and values: for one worker, and for all workers together.
constexpr Index kLocalBytes = Index{1} << 20, kSharedBytes = Index{40} << 20;
// Softmax states of all segments together.
constexpr Index kStateBytes = Index{32} << 20;

template <class T>
class Forward {
 public:
  Forward(Context& ctx, const Problem& problem, const AttentionOutputs& outputs)
      : ctx_(ctx),
        problem_(problem),
        outputs_(outputs),
        kernels_(kernels_of<T>(ctx, problem)),
        plan_(tile_plan(problem, kernels_)),
        keys_(problem, plan_, kernels_, true),
        units_(problem.sequences * problem.kv_heads),
        rows_(problem.q_longest * problem.group),
        row_blocks_((rows_ + kBlockRows - 1) / kBlockRows),
        blocks_(problem, outputs, kernels_, plan_) {}

  void run() {
    if (units_ > 0 && rows_ > 0) {
      const double work = static_cast<double>(units_ * rows_) * static_cast<double>(problem_.k_longest) *
                          static_cast<double>(problem_.dim + problem_.value_dim);
      workers_ = work < kSerialWork ? 1 : ctx_.threads();
      if (!outputs_.weights.empty() && problem_.packed) clear_weights_padding<T>(problem_, outputs_.weights);
      if (!outputs_.received.empty()) blocks_.scales = ScaleTable<T>::reserve(ctx_, problem_);
      if (!wants_segments() || !run_segments()) run_rows();
    }
    if (!outputs_.received.empty()) attention_received(ctx_, problem_, blocks_.scales, outputs_.received);
  }

 private:
  // Keys in a cache are read again without packing; packed keys are used for one block of rows per segment.
  [[nodiscard]] bool wants_segments() const {
    if (workers_ == 1 || problem_.k_longest <= plan_.segment_keys || wants_row_statistics(outputs_))
      return false;
    if (problem_.cache == nullptr) return rows_ <= kBlockRows && units_ < 4 * workers_;
    constexpr Index kFewRows = 32;
    return row_blocks_ * units_ < 8 * workers_ || rows_ <= kFewRows;
  }

  void run_rows() {
    const Index unit_bytes = keys_.elements(problem_.k_longest) * static_cast<Index>(sizeof(T));
    if (problem_.cache != nullptr) return run_blocks(units_);
    if (rows_ <= kBlockRows) return run_units(std::min(problem_.k_longest, plan_.segment_keys));
    if (unit_bytes <= kLocalBytes && (workers_ == 1 || units_ >= 8 * workers_))
      return run_units(problem_.k_longest);
    const Index whole = (units_ / workers_ - 1) * workers_;
    if (unit_bytes <= kLocalBytes && whole > 0 && (units_ - whole) * unit_bytes <= kSharedBytes)
      return run_units_then_blocks(whole);
    run_blocks(std::max<Index>(1, kSharedBytes / std::max<Index>(1, unit_bytes)));
  }

  // All memory is allocated before the work begins, so that no task can fail.
  void reserve_workers(Index packed) {
    bytes_ = Workspace<T>::bytes(problem_, plan_, static_cast<std::size_t>(packed));
    for (int w = 0; w < workers_; ++w) (void)ctx_.scratch(w, bytes_);
  }
  [[nodiscard]] Workspace<T> workspace(int worker) const {
    return Workspace<T>(ctx_.scratch(worker, bytes_), problem_, plan_);
  }
  [[nodiscard]] Block<T> block_of(const Unit& unit, Index first, const Workspace<T>& space) const {
    return Block<T>(problem_, plan_, kernels_, unit, first, unit.rows(), space);
  }

  // A task is a unit, whose packed keys never leave the worker's cache: all `at_once`, or for a single block
  // of rows one segment at a time, just before its use.
  void run_units(Index at_once) {
    reserve_workers(keys_.elements(at_once));
    const ShortUnits<T> short_units(ctx_, problem_, outputs_);
    ctx_.pool().run(units_, workers_, [&](int worker, Index number) {
      const Unit unit = unit_of(problem_, number);
      Workspace<T> space = workspace(worker);
      if (rows_ <= kBlockRows) {
        kernels::FetchAhead ahead;
        if (units_ > 1) {
          ahead = fetch_next(problem_, outputs_, number, number + workers_);
          space.ahead = &ahead;
        }
        if (short_units.usable() &&
            short_units.run(unit, keys_.read(unit, {0, unit.sequence.k_len}, space.packed), space.ahead))
          return;
        blocks_.run(block_of(unit, 0, space), space,
                    [&](Range range) { return keys_.read(unit, range, space.packed); });
        return;
      }
      run_unit(unit, space);
    });
  }
  void run_unit(const Unit& unit, const Workspace<T>& space) const {
    const KeySource<T> source = keys_.read(unit, {0, unit.sequence.k_len}, space.packed);
    for (Index first = 0; first < unit.rows(); first += kBlockRows) {
      const Block<T> block = block_of(unit, first, space);
      fetch_queries(problem_, unit, first + kBlockRows, first + 2 * kBlockRows);
      blocks_.run(block, space, [&](Range) { return source; });
    }
  }

  // Tile `tile` of a unit, packed into memory that all workers share.
  void pack_tile(const Unit& unit, Index tile, T* memory) const {
    const Index keys = unit.sequence.k_len, first = tile * plan_.tile_keys;
    if (first < keys) keys_.pack(unit, {0, keys}, {first, std::min(keys, first + plan_.tile_keys)}, memory);
  }
  // Last rows first, as under a causal mask those are the longest.
  void run_block(const Unit& unit, Index number, T* memory, const Workspace<T>& space) const {
    const Index first = (row_blocks_ - 1 - number) * kBlockRows;
    if (first >= unit.rows()) return;
    const KeySource<T> source = keys_.at(unit, {0, unit.sequence.k_len}, memory);
    blocks_.run(block_of(unit, first, space), space, [&](Range) { return source; });
  }
  [[nodiscard]] T* shared(Index elements) {
    if (elements == 0) return nullptr;
    return reinterpret_cast<T*>(
        ctx_.scratch(Context::kShared, static_cast<std::size_t>(elements) * sizeof(T)));
  }

  // All workers pack, then all take blocks of rows. As many units at a time as fit the shared memory.
  void run_blocks(Index at_once) {
    at_once = std::min(at_once, units_);
    reserve_workers(0);
    const Index size = keys_.elements(problem_.k_longest);
    T* memory = shared(size * at_once);
    const Index tiles = size == 0 ? 0 : plan_.tiles(problem_.k_longest);
    for (Index start = 0; start < units_; start += at_once) {
      const Index now = std::min(at_once, units_ - start);
      ctx_.pool().run(now * tiles, workers_, [&](int, Index task) {
        pack_tile(unit_of(problem_, start + task / tiles), task % tiles, memory + task / tiles * size);
      });
      ctx_.pool().run(now * row_blocks_, workers_, [&](int worker, Index task) {
        run_block(unit_of(problem_, start + task / row_blocks_), task % row_blocks_,
                  memory + task / row_blocks_ * size, workspace(worker));
      });
    }
  }

  // Whole units first, whose packed keys stay in the cache of one core. The last units are divided into blocks of rows, so
  // that all workers end together; their keys are packed before anything else, by all workers.
  void run_units_then_blocks(Index whole) {
    const Index size = keys_.elements(problem_.k_longest), tiles = plan_.tiles(problem_.k_longest);
    const Index divided = units_ - whole, packing = divided * tiles;
    reserve_workers(size);
    T* memory = shared(size * divided);
    std::atomic<Index> packed{0};
    ctx_.pool().run(packing + whole + divided * row_blocks_, workers_, [&](int worker, Index task) {
      if (task < packing) {
        pack_tile(unit_of(problem_, whole + task / tiles), task % tiles, memory + task / tiles * size);
        packed.fetch_add(1, std::memory_order_release);
        return;
      }
      task -= packing;
      if (task < whole) return run_unit(unit_of(problem_, task), workspace(worker));
      // Tasks begin in order: what is not packed yet is being packed.
      while (packed.load(std::memory_order_acquire) < packing) std::this_thread::yield();
      task -= whole;
      run_block(unit_of(problem_, whole + task / row_blocks_), task % row_blocks_,
                memory + task / row_blocks_ * size, workspace(worker));
    });
  }

  // Few rows, few units, many keys: a task is one segment of one block of rows, so that one sequence can
  // use every core. Segments are merged in key order. False when it is not worth it, or when hidden NaN or
  // Inf may have leaked: the caller then uses another split.
  [[nodiscard]] bool run_segments() {
    const auto tasks_of = [&](Index s) {
      return segments_of(problem_, plan_, problem_.sequence(s)).size() * problem_.kv_heads * row_blocks_;
    };
    Index tasks = 0;
    for (Index s = 0; s < problem_.sequences; ++s) tasks += tasks_of(s);
    const Index stride = Workspace<T>::padded_columns(plan_),
                room = 2 * kBlockRows + std::min<Index>(rows_, kBlockRows) * stride;
    const Index state_bytes = tasks * room * static_cast<Index>(sizeof(T));
    if (tasks <= units_ * row_blocks_ || state_bytes > kStateBytes) return false;
    reserve_workers(keys_.elements(plan_.segment_keys));
    std::byte* memory = ctx_.scratch(
        Context::kShared,
        static_cast<std::size_t>(state_bytes + (problem_.sequences + 1) * static_cast<Index>(sizeof(Index))));
    // The first task of every sequence, and behind the last one the number of all tasks.
    auto* first_task = reinterpret_cast<Index*>(memory + state_bytes);
    first_task[0] = 0;
    for (Index s = 0; s < problem_.sequences; ++s) first_task[s + 1] = first_task[s] + tasks_of(s);
    const auto state_of = [&](Index task) {
      T* at = reinterpret_cast<T*>(memory) + task * room;
      return kernels::SoftmaxState<T>{at, at + kBlockRows, at + 2 * kBlockRows, stride};
    };
    ctx_.pool().run(tasks, workers_, [&](int worker, Index task) {
      const Index s = std::upper_bound(first_task, first_task + problem_.sequences, task) - first_task - 1;
      const Range seen = segments_of(problem_, plan_, problem_.sequence(s));
      const Index inside = task - first_task[s], of_unit = seen.size() * row_blocks_;
      const Unit unit = unit_of(problem_, s * problem_.kv_heads + inside / of_unit);
      absorb_segment(unit, inside % of_unit / seen.size(), seen.begin + inside % seen.size(),
                     workspace(worker), state_of(task));
    });
    std::atomic<bool> finite{true};
    ctx_.pool().run(units_ * row_blocks_, workers_, [&](int worker, Index number) {
      const Unit unit = unit_of(problem_, number / row_blocks_);
      const Index segments = segments_of(problem_, plan_, unit.sequence).size(),
                  row_block = number % row_blocks_;
      const Workspace<T> space = workspace(worker);
      const Block<T> block = block_of(unit, row_block * kBlockRows, space);
      const Index first =
          first_task[unit.sequence.item] + (unit.kv_head * row_blocks_ + row_block) * segments;
      if (segments == 0) blocks_.reset(space.total, block.rows);
      const kernels::SoftmaxState<T> total = segments == 0 ? space.total : state_of(first);
      for (Index s = 1; s < segments; ++s)
        kernels_.merge(total, state_of(first + s), block.rules.logit_unit, block.rows, plan_.value_dim);
      RowScale<T> scale[kBlockRows];
      if (!blocks_.finish(block, total, scale)) finite.store(false);
    });
    return finite.load();
  }

  // A fresh state from the tiles of one segment.
  void absorb_segment(const Unit& unit, Index row_block, Index segment, const Workspace<T>& space,
                      const kernels::SoftmaxState<T>& state) const {
    const Block<T> block = block_of(unit, row_block * kBlockRows, space);
    const Index begin = segment * plan_.segment_keys;
    const Range range{begin, std::min(begin + plan_.segment_keys, block.all_keys.end)};
    if (range.size() <= 0 || range.end <= block.all_keys.begin) return blocks_.reset(state, block.rows);
    T* keep[kBlockRows];
    blocks_.absorb_range(block, range, keys_.read(unit, range, space.packed), space, state,
                         blocks_.kept_rows(block, keep), false);
  }

  Context& ctx_;
  const Problem& problem_;
  const AttentionOutputs& outputs_;
  const kernels::AttentionKernels<T>& kernels_;
  const TilePlan plan_;
  const KeyReader<T> keys_;
  const Index units_, rows_, row_blocks_;
  int workers_ = 1;
  std::size_t bytes_ = 0;
  ForwardBlock<T> blocks_;
};

}  // namespace

void run_forward(Context& ctx, const Problem& problem, const AttentionOutputs& outputs) {
  const CallScope scope(ctx);
  compute_in(problem.dtype, [&]<class T>() {
    if (!run_small_call<T>(ctx, problem, outputs)) Forward<T>(ctx, problem, outputs).run();
  });
}

void forward_part(Context& ctx, const ConstTensorView& q, const ConstTensorView& k, const ConstTensorView& v,
                  const AttentionOptions& options, const DropoutOrigin& from,
                  const AttentionOutputs& outputs) {
  Problem problem = check_call("attention", q, k, v, options);
  problem.dropout.from = from;
  check_values("attention", problem);
  check_outputs("attention", problem, outputs);
  run_forward(ctx, problem, outputs);
}

void attention_forward(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, const AttentionOutputs& outputs) {
  forward_part(ctx, q, k, v, options, {}, outputs);
}

void attention_forward(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, TensorView out, TensorView lse) {
  attention_forward(ctx, q, k, v, options, AttentionOutputs{.out = out, .lse = lse});
}

AttentionResult attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                          const AttentionOptions& options) {
  const Problem problem = check_call("attention", q, k, v, options);
  check_values("attention", problem);
  AttentionResult result{
      Tensor::uninitialized({problem.batch, problem.q_heads, problem.q_total, problem.value_dim}, q.dtype()),
      Tensor::uninitialized({problem.batch, problem.q_heads, problem.q_total},
                            problem.dtype == DType::f64 ? DType::f64 : DType::f32)};
  run_forward(default_context(), problem, {.out = result.out, .lse = result.lse});
  return result;
}

}  // namespace headlight
