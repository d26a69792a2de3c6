// Attention of a few new queries on a cache. A task is one segment of the keys of one unit, so that one
// sequence with few heads keeps every core busy; a long chunk of queries is cut into blocks of rows
// instead. Either way every row goes through the tiles and segments of attention_forward.
#include <atomic>
#include <cstring>

#include "attention/block.h"
#include "attention/cache_store.h"
#include "attention/rows.h"
#include "attention/view_checks.h"
#include "core/concat.h"
#include "core/float_mode.h"
#include "core/thread_pool.h"

namespace headlight {
namespace {

constexpr double kSerialWork = 4e5;             // as in forward.cc
constexpr Index kStateBytes = Index{32} << 20;  // softmax states of all segments together

class Decode {
 public:
  Decode(Context& ctx, const Problem& problem, const CacheStore& cache, const AttentionOutputs& outputs)
      : ctx_(ctx),
        problem_(problem),
        cache_(cache),
        outputs_(outputs),
        kernels_(cache.kernels),
        plan_(cache.plan),
        absorb_(cache.cache_kernels.absorb[static_cast<std::size_t>(cache.layout.type)]) {}

  void run() {
    const Index rows = problem_.q_longest * problem_.group;
    units_ = problem_.sequences * problem_.kv_heads;
    if (units_ == 0 || rows == 0) return;
    const double work = static_cast<double>(units_ * rows) * static_cast<double>(problem_.k_longest) *
                        static_cast<double>(problem_.dim + problem_.value_dim);
    workers_ = work < kSerialWork ? 1 : ctx_.threads();
    blocks_ = (rows + kBlockRows - 1) / kBlockRows;
    block_rows_ = static_cast<int>(std::min<Index>(rows, kBlockRows));
    bytes_ = Workspace<float>::bytes(problem_, plan_, 0);
    for (int w = 0; w < workers_; ++w) (void)ctx_.scratch(w, bytes_);
    const Index segments = count_segments();
    const bool few = blocks_ * units_ < 8 * workers_ || rows <= kSplitRows;
    if (few && workers_ > 1 && segments > units_ * blocks_ &&
        segments * state_elements() * 4 <= kStateBytes) {
      if (run_segments(segments)) return;
    }
    run_blocks();
  }

 private:
  static constexpr Index kSplitRows = 32;

  [[nodiscard]] Workspace<float> workspace(int worker) const {
    return Workspace<float>(ctx_.scratch(worker, bytes_), problem_, plan_);
  }
  [[nodiscard]] Unit unit_number(Index number) const { return unit_of(problem_, number); }
  [[nodiscard]] int rows_of(const Unit& unit, Index block) const {
    const Index left = unit.sequence.q_rows * problem_.group - block * kBlockRows;
    return static_cast<int>(std::clamp<Index>(left, 0, kBlockRows));
  }

  // The segments that some query of an item sees. Runs of keys never move back from row to row.
  [[nodiscard]] Range segments_of(const Sequence& sequence) const {
    Range seen{sequence.k_len, 0};
    for (Index i = 0; i < sequence.q_len; ++i) {
      const Range keys = problem_.keys_for(sequence, i);
      if (keys.size() <= 0) continue;
      seen.begin = std::min(seen.begin, keys.begin);
      seen.end = std::max(seen.end, keys.end);
    }
    if (seen.size() <= 0) return {0, 0};
    return {seen.begin / plan_.segment_keys, (seen.end + plan_.segment_keys - 1) / plan_.segment_keys};
  }

  // The first task of every unit and block, and behind the last one the number of all tasks.
  [[nodiscard]] Index count_segments() {
    const auto size = static_cast<std::size_t>(problem_.sequences + 1) * sizeof(Index);
    first_task_ = reinterpret_cast<Index*>(ctx_.scratch(Context::kRows, size));
    first_task_[0] = 0;
    for (Index s = 0; s < problem_.sequences; ++s) {
      first_task_[s + 1] =
          first_task_[s] + segments_of(problem_.sequence(s)).size() * problem_.kv_heads * blocks_;
    }
    return first_task_[problem_.sequences];
  }

  // max, sum and acc of one block of rows.
  [[nodiscard]] Index state_elements() const {
    return 2 * kBlockRows + block_rows_ * Workspace<float>::padded_columns(plan_);
  }
  [[nodiscard]] kernels::SoftmaxState<float> state(float* memory, Index task) const {
    float* at = memory + task * state_elements();
    return {at, at + kBlockRows, at + 2 * kBlockRows, Workspace<float>::padded_columns(plan_)};
  }

  // False when hidden NaN or Inf may have leaked: the caller then goes the careful way.
  [[nodiscard]] bool run_segments(Index tasks) {
    auto* memory = reinterpret_cast<float*>(
        ctx_.scratch(Context::kShared, static_cast<std::size_t>(tasks * state_elements()) * sizeof(float)));
    ctx_.pool().run(tasks, workers_, [&](int worker, Index task) {
      const Index item =
          std::upper_bound(first_task_, first_task_ + problem_.sequences, task) - first_task_ - 1;
      const Range seen = segments_of(problem_.sequence(item));
      const Index inside = task - first_task_[item], of_unit = seen.size() * blocks_;
      const Unit unit = unit_number(item * problem_.kv_heads + inside / of_unit);
      const Index block = inside % of_unit / seen.size(), segment = seen.begin + inside % seen.size();
      const Workspace<float> space = workspace(worker);
      const Block<float> rows(problem_, plan_, kernels_, unit, block * kBlockRows, rows_of(unit, block),
                              space);
      absorb_segment(rows, segment, space, state(memory, task), false);
    });
    std::atomic<bool> finite{true};
    ctx_.pool().run(units_ * blocks_, workers_, [&](int worker, Index number) {
      const Unit unit = unit_number(number / blocks_);
      const Index item = unit.sequence.item, segments = segments_of(unit.sequence).size(),
                  block = number % blocks_;
      const Workspace<float> space = workspace(worker);
      const Block<float> rows(problem_, plan_, kernels_, unit, block * kBlockRows, rows_of(unit, block),
                              space);
      const Index first = first_task_[item] + (unit.kv_head * blocks_ + block) * segments;
      if (segments == 0) reset(space.total, rows.rows);
      const kernels::SoftmaxState<float> total = segments == 0 ? space.total : state(memory, first);
      for (Index s = 1; s < segments; ++s)
        kernels_.merge(total, state(memory, first + s), rows.rules.unit, rows.rows, plan_.value_dim);
      if (!finish(rows, total)) finite.store(false);
    });
    return finite.load();
  }

  // Last rows first: under a causal mask those are the longest.
  void run_blocks() {
    ctx_.pool().run(units_ * blocks_, workers_, [&](int worker, Index task) {
      const Unit unit = unit_number(task / blocks_);
      const Index block = blocks_ - 1 - task % blocks_;
      const int count = rows_of(unit, block);
      if (count == 0) return;
      const Workspace<float> space = workspace(worker);
      const Block<float> rows(problem_, plan_, kernels_, unit, block * kBlockRows, count, space);
      if (!attend(rows, space, false)) (void)attend(rows, space, true);
    });
  }

  [[nodiscard]] bool attend(const Block<float>& rows, const Workspace<float>& space, bool careful) const {
    bool first = true;
    for_each_segment(rows, [&](Range range) {
      absorb_segment(rows, range.begin / plan_.segment_keys, space, first ? space.total : space.part,
                     careful);
      if (!first) kernels_.merge(space.total, space.part, rows.rules.unit, rows.rows, plan_.value_dim);
      first = false;
    });
    if (first) reset(space.total, rows.rows);
    return finish(rows, space.total);
  }

  static void reset(const kernels::SoftmaxState<float>& state, int rows) {
    for (int r = 0; r < kBlockRows; ++r) state.max[r] = -std::numeric_limits<float>::infinity();
    std::memset(state.sum, 0, sizeof(float) * kBlockRows);
    std::memset(state.acc, 0, sizeof(float) * static_cast<std::size_t>(state.acc_stride * rows));
  }

  // A fresh state from the tiles of one segment.
  void absorb_segment(const Block<float>& rows, Index segment, const Workspace<float>& space,
                      const kernels::SoftmaxState<float>& state, bool careful) const {
    const Index size = plan_.tile_keys, start = segment * plan_.segment_keys;
    const Index begin = std::max(start, rows.all_keys.begin);
    const Index end = std::min(start + plan_.segment_keys, rows.all_keys.end);
    if (begin >= end) return reset(state, rows.rows);
    std::int32_t from[kBlockRows], to[kBlockRows];
    kernels::CacheTile cached = tile_of(rows, space, from, to);
    bool fresh = true;
    const Index item = rows.unit.sequence.item, head = rows.unit.kv_head;
    const std::byte* data = cache_.tile(item, head, begin);
    for (Index first = begin / size * size; first < end; first += size) {
      for (int r = 0; r < rows.rows; ++r) {
        from[r] = static_cast<std::int32_t>(std::clamp<Index>(rows.keys[r].begin - first, 0, size));
        to[r] = static_cast<std::int32_t>(std::clamp<Index>(rows.keys[r].end - first, 0, size));
      }
      cached.tile.first_key = first;
      cached.keys = data + cache_.layout.keys;
      cached.values = data + cache_.layout.values;
      cached.key_scales = reinterpret_cast<const float*>(data + cache_.layout.key_scales);
      cached.value_scales = reinterpret_cast<const float*>(data + cache_.layout.value_scales);
      if (first + size < rows.all_keys.end) data = cache_.tile(item, head, first + size);
      cached.next = data;
      absorb_(cached, state, fresh, careful);
      fresh = false;
    }
  }

  [[nodiscard]] kernels::CacheTile tile_of(const Block<float>& rows, const Workspace<float>& space,
                                           const std::int32_t* from, const std::int32_t* to) const {
    kernels::CacheTile cached;
    cached.tile_keys = plan_.tile_keys;
    kernels::Tile<float>& tile = cached.tile;
    tile.rows = rows.rows;
    tile.dim = static_cast<int>(problem_.dim);
    tile.value_dim = plan_.value_dim;
    tile.q = space.q;
    tile.q_stride = space.q_stride;
    tile.begin = from;
    tile.end = to;
    tile.rules = rows.rules;
    tile.scores = space.scores;
    tile.scores_stride = space.scores_stride;
    return cached;
  }

  // Writes the rows' outputs; false when one is not finite.
  [[nodiscard]] bool finish(const Block<float>& rows, const kernels::SoftmaxState<float>& total) const {
    bool finite = true;
    const Sequence& sequence = rows.unit.sequence;
    const ConstTensorView& sinks = problem_.options->sinks;
    const TensorView &out = outputs_.out, &lse = outputs_.lse;
    for (int r = 0; r < rows.rows; ++r) {
      const bool real = rows.query[r] < sequence.q_len;
      const double sink =
          sinks.empty() || !real ? -std::numeric_limits<double>::infinity() : sinks.at(rows.head[r]);
      const RowScale<float> scale =
          row_scale(total.max[r], total.sum[r], rows.rules.unit, sink, !lse.empty());
      const Index at = statistic_offset(out, sequence, rows.head[r], rows.query[r]);
      kernels_.store_row(
          total.acc + r * total.acc_stride, static_cast<int>(problem_.value_dim), scale.factor,
          problem_.dtype,
          static_cast<std::byte*>(out.data()) + at * static_cast<Index>(size_of(problem_.dtype)), &finite);
      if (!lse.empty()) {
        lse.as<float>()[statistic_offset(lse, sequence, rows.head[r], rows.query[r])] =
            static_cast<float>(scale.lse);
      }
    }
    return finite;
  }

  Context& ctx_;
  const Problem& problem_;
  const CacheStore& cache_;
  const AttentionOutputs outputs_;
  const kernels::AttentionKernels<float>& kernels_;
  const TilePlan& plan_;
  void (*absorb_)(const kernels::CacheTile&, const kernels::SoftmaxState<float>&, bool, bool);
  Index units_ = 0, blocks_ = 1;
  int workers_ = 1, block_rows_ = 1;
  std::size_t bytes_ = 0;
  Index* first_task_ = nullptr;
};

constexpr const char* kWho = "attention_decode";

void check_cache(const Context& ctx, const ConstTensorView& q, const CacheStore& cache,
                 const AttentionOptions& options) {
  if (ctx.target() != cache.target) {
    refuse(ErrorKind::usage, "kv_cache.target",
           concat(kWho, ": the cache was made for SIMD target ", name_of(cache.target),
                  " but the Context runs ", name_of(ctx.target()), "; make both with the same target"));
  }
  if (!options.k_lengths.empty() || !options.k_starts.empty() || !options.q_starts.empty()) {
    refuse(ErrorKind::usage, "kv_cache.lengths",
           concat(kWho, ": ", options.k_lengths.empty() ? "starts are" : "k_lengths is",
                  " given; the cache knows its items' lengths, leave it empty"));
  }
  if (options.dropout.rate != 0) {
    refuse(ErrorKind::usage, "kv_cache.dropout",
           concat(kWho, ": dropout.rate is ", options.dropout.rate, "; need 0: decoding has no dropout"));
  }
  if (q.rank() != 4) return;  // check_call says it
  if (q.dtype() != DType::f32 && q.dtype() != DType::f16 && q.dtype() != DType::bf16) {
    refuse(ErrorKind::input, "kv_cache.dtype",
           concat(kWho, ": q is ", name_of(q.dtype()), "; need f32, f16 or bf16"));
  }
  if (q.dim(0) != static_cast<Index>(cache.items.size())) {
    refuse(ErrorKind::input, "kv_cache.batch",
           concat(kWho, ": q has batch ", q.dim(0), " but the cache has ", cache.items.size(),
                  " items; need the same"));
  }
}

// A ring has dropped its oldest keys: nobody may look there.
void check_window(const Problem& problem, const CacheStore& cache) {
  for (Index s = 0; s < problem.sequences; ++s) {
    const Index first = cache.first_key(s);
    if (first == 0) continue;
    const Sequence sequence = problem.sequence(s);
    for (Index i = 0; i < sequence.q_len; ++i) {
      const Range seen = problem.keys_for(sequence, i);
      if (seen.size() <= 0 || seen.begin >= first) continue;
      refuse(ErrorKind::usage, "kv_cache.window",
             concat(kWho, ": query ", i, " of item ", s, " sees key ", seen.begin,
                    ", but the cache's window of ", cache.options.window, " has dropped all before ", first,
                    "; need visible.left of at most ", cache.options.window - 1));
    }
  }
}

}  // namespace

void attention_decode(Context& ctx, ConstTensorView q, const KvCache& cache, const AttentionOptions& options,
                      TensorView out, TensorView lse) {
  const CacheStore& store = cache.store();
  check_cache(ctx, q, store, options);
  AttentionOptions full = options;
  full.k_lengths = store.lengths;
  Index longest = 0;
  const void* somewhere = nullptr;
  for (std::size_t i = 0; i < store.items.size(); ++i) {
    longest = std::max(longest, store.lengths[i]);
    if (!store.items[i].pages.empty()) somewhere = store.items[i].pages.front()->data;
  }
  // Keys and values as far as the checks are concerned: a shape whose elements nobody reads.
  const auto stand_in = [&](Index width) {
    return ConstTensorView(somewhere, q.dtype(),
                           {static_cast<Index>(store.items.size()), store.options.kv_heads, longest, width},
                           {0, 0, 0, 1});
  };
  const Problem problem =
      check_call(kWho, q, stand_in(store.options.dim), stand_in(store.options.value_dim), full);
  const AttentionOutputs outputs{.out = out, .lse = lse};
  check_outputs(kWho, problem, outputs);
  check_window(problem, store);
  const DefaultFloatMode float_mode;
  Decode(ctx, problem, store, outputs).run();
}

}  // namespace headlight
