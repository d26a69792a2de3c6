// The backward driver. One sweep: a key tile owns its dk and dv and walks the rows in order; dq of a
// block of rows takes its share from each key tile in key order, by ticket. Every sum has one order,
// whichever worker computes it.
#include "attention/backward.h"

#include <atomic>
#include <thread>
#include <vector>

#include "attention/part.h"
#include "core/call_scope.h"
#include "core/thread_pool.h"
#include "headlight/attention.h"
#include "kernels/kernels.h"

namespace headlight {
namespace {

constexpr double kSerialWork = 4e5;
constexpr Index kSharedBytes = Index{48} << 20;

// The key tile that may add to dq of a block next. On a separate cache line, because workers wait for neighbouring blocks.
struct alignas(64) Ticket {
  std::atomic<Index> tile{0};
};

template <class T>
class Backward {
 public:
  Backward(Context& ctx, const Problem& problem, const AttentionSaved& saved, const ConstTensorView& dout,
           const AttentionGrads& grads)
      : ctx_(ctx),
        problem_(problem),
        saved_(saved),
        dout_(dout),
        grads_(grads),
        kernels_(kernels_of<T>(ctx, problem)),
        backward_(backward_kernels_of<T>(ctx, problem)),
        plan_(backward_plan(problem, kernels_)),
        rows_(problem.q_longest * problem.group),
        blocks_((rows_ + kBlockRows - 1) / kBlockRows),
        tiles_(plan_.tiles(problem.packed ? problem.k_longest : problem.k_total)) {}

  void run() {
    const Index units = problem_.sequences * problem_.kv_heads;
    if (units == 0) return;
    const double work = static_cast<double>(units * rows_) * static_cast<double>(problem_.k_longest) *
                        static_cast<double>(problem_.dim + problem_.value_dim);
    const int workers = work < kSerialWork ? 1 : ctx_.threads();
    bytes_ = static_cast<std::size_t>(GradTiles<T>::elements(problem_, plan_)) * sizeof(T);
    for (int w = 0; w < workers; ++w) (void)ctx_.scratch(w, bytes_);
    const Index unit_elements = GradRows<T>::elements(problem_, rows_);
    const Index fit = kSharedBytes / (unit_elements * static_cast<Index>(sizeof(T)) + 1);
    const bool whole_units = workers == 1 || units >= 2 * workers;
    const Index at_once = std::clamp<Index>(whole_units ? workers : fit, 1, units);
    memory_ = reinterpret_cast<T*>(
        ctx_.scratch(Context::kShared, static_cast<std::size_t>(unit_elements * at_once) * sizeof(T)));
    if (whole_units) {
      ctx_.pool().run(units, workers, [&](int worker, Index number) {
        const GradRows<T> rows(memory_ + worker * unit_elements, problem_, rows_);
        const Unit unit = unit_of(problem_, number);
        if (!run_unit(unit, rows, worker, false)) (void)run_unit(unit, rows, worker, true);
      });
    } else {
      for (Index start = 0; start < units; start += at_once) {
        run_shared(start, std::min(at_once, units - start), unit_elements, workers);
      }
    }
  }

 private:
  [[nodiscard]] GradTiles<T> space(int worker) {
    return GradTiles<T>(reinterpret_cast<T*>(ctx_.scratch(worker, bytes_)), problem_, plan_);
  }

  [[nodiscard]] GradRows<T> rows_from(GradRows<T> rows, Index first) const {
    rows.q += first * rows.q_stride;
    rows.dq += first * rows.q_stride;
    rows.dout += first * rows.dout_stride;
    rows.shift += first;
    rows.factor += first;
    rows.delta += first;
    return rows;
  }

  [[nodiscard]] Block<T> block_of(const Unit& unit, Index first, T* q) const {
    Workspace<T> space;
    space.q = q;
    space.q_stride = GradRows<T>::stride(problem_.dim);
    return Block<T>(problem_, plan_, kernels_, unit, first, unit.rows(), space);
  }

  void load_block(const Unit& unit, Index first, const GradRows<T>& all, int worker) {
    const GradRows<T> rows = rows_from(all, first);
    const auto n = static_cast<std::size_t>(std::min<Index>(kBlockRows, unit.rows() - first) * rows.q_stride);
    std::memset(rows.dq, 0, sizeof(T) * n);
    std::memset(rows.q, 0, sizeof(T) * n);
    const Block<T> block = block_of(unit, first, rows.q);
    load_grad_rows(block, backward_, saved_, dout_, rows, space(worker));
  }

  // Key tile number `tile` against all rows of the unit. wait(block) returns when it may add to dq of
  // that block, done(block) tells that it has. False when a gradient is not finite.
  template <class Wait, class Done>
  [[nodiscard]] bool run_tile(const Unit& unit, Index tile, const GradRows<T>& all, const GradTiles<T>& space,
                              bool careful, const Wait& wait, const Done& done) const {
    const Sequence& sequence = unit.sequence;
    const Index begin = tile * plan_.tile_keys;
    const Range range{std::min(begin, sequence.k_len), std::min(begin + plan_.tile_keys, sequence.k_len)};
    const Index padded = std::min(begin + plan_.tile_keys, sequence.k_rows) - begin;
    if (padded <= 0) return true;
    std::memset(space.dk, 0, sizeof(T) * static_cast<std::size_t>(padded * space.dk_stride));
    std::memset(space.dv, 0, sizeof(T) * static_cast<std::size_t>(padded * space.dv_stride));
    if (range.size() > 0) {
      pack_tile(problem_, kernels_, unit, range, space);
      const KeySource<T> source{.keys = space.keys, .first_key = range.begin, .end_key = range.end};
      const Workspace<T> none;
      for (Index first = 0; first < unit.rows(); first += kBlockRows) {
        const Block<T> block = block_of(unit, first, nullptr);
        const GradRows<T> rows = rows_from(all, first);
        const kernels::BackwardSums<T> sums{rows.dq,       space.dk,        space.dv,
                                            rows.q_stride, space.dk_stride, space.dv_stride};
        block.for_each_tile(range, source, none, [&](const kernels::Tile<T>& seen) {
          const kernels::BackwardTile<T> b = backward_tile(seen, block, range, rows, space, careful);
          backward_.keys(b, sums);
          wait(first / kBlockRows);
          backward_.rows(b, sums);
          done(first / kBlockRows);
        });
      }
    }
    return store_tile(unit, begin, padded, space);
  }

  // Columns of q hold scale·log2(e)/logit_unit, or scale/cap under a softcap: dk takes the other factor here. Plain rows hold
  // none of it.
  [[nodiscard]] bool store_tile(const Unit& unit, Index begin, Index keys, const GradTiles<T>& space) const {
    bool finite = true;
    const Sequence& s = unit.sequence;
    const double cap = problem_.options->softcap;
    const double factor = kernels_.plain_rows ? problem_.scale : cap > 0 ? cap : kLn2 * problem_.logit_unit();
    for (Index j = 0; j < keys; ++j) {
      const Index token = s.k_start + begin + j;
      store(grads_.dk, s.batch, unit.kv_head, token, space.dk + j * space.dk_stride, static_cast<T>(factor),
            &finite);
      store(grads_.dv, s.batch, unit.kv_head, token, space.dv + j * space.dv_stride, T{1}, &finite);
    }
    return finite;
  }

  void store(const TensorView& view, Index batch, Index head, Index token, const T* row, T factor,
             bool* finite) const {
    if (view.empty()) return;
    kernels_.store_row(row, static_cast<int>(view.dim(3)), factor, problem_.dtype,
                       row_at(view, batch, head, token), finite);
  }

  [[nodiscard]] bool store_queries(const Unit& unit, Index first, const GradRows<T>& all) const {
    bool finite = true;
    const Block<T> block = block_of(unit, first, nullptr);
    const GradRows<T> rows = rows_from(all, first);
    for (int r = 0; r < block.rows; ++r) {
      store(grads_.dq, unit.sequence.batch, block.head[r], unit.sequence.q_start + block.query[r],
            rows.dq + r * rows.q_stride, static_cast<T>(problem_.scale), &finite);
    }
    return finite;
  }

  [[nodiscard]] bool run_unit(const Unit& unit, const GradRows<T>& rows, int worker, bool careful) {
    bool finite = true;
    const GradTiles<T> tiles = space(worker);
    for (Index first = 0; first < unit.rows(); first += kBlockRows) load_block(unit, first, rows, worker);
    const auto nothing = [](Index) {};
    for (Index t = 0; t < tiles_; ++t)
      finite = run_tile(unit, t, rows, tiles, careful, nothing, nothing) && finite;
    for (Index first = 0; first < unit.rows(); first += kBlockRows) {
      finite = store_queries(unit, first, rows) && finite;
    }
    return finite;
  }

  // Few units: all workers load rows, then take key tiles, then write dq. Tiles are handed out in key
  // order, so a tile only ever waits for one that is already being worked on.
  void run_shared(Index start, Index units, Index unit_elements, int workers) {
    const auto rows_of = [&](Index u) { return GradRows<T>(memory_ + u * unit_elements, problem_, rows_); };
    const Index per_unit = std::max<Index>(1, blocks_);
    std::vector<Ticket> ticket(static_cast<std::size_t>(units * per_unit));
    std::vector<std::atomic<bool>> finite(static_cast<std::size_t>(units));
    for (auto& f : finite) f.store(true);
    ctx_.pool().run(units * blocks_, workers, [&](int worker, Index task) {
      const Unit unit = unit_of(problem_, start + task / blocks_);
      const Index first = task % blocks_ * kBlockRows;
      if (first >= unit.rows()) return;
      load_block(unit, first, rows_of(task / blocks_), worker);
      const Block<T> block = block_of(unit, first, nullptr);
      ticket[static_cast<std::size_t>(task)].tile.store(block.all_keys.begin / plan_.tile_keys);
    });
    ctx_.pool().run(units * tiles_, workers, [&](int worker, Index task) {
      const Index u = task / tiles_, t = task % tiles_;
      const auto mine = [&](Index block) -> std::atomic<Index>& {
        return ticket[static_cast<std::size_t>(u * per_unit + block)].tile;
      };
      const auto wait = [&](Index block) {
        for (int spin = 0; mine(block).load(std::memory_order_acquire) != t; ++spin) {
          if (spin > 2000) std::this_thread::yield();
        }
      };
      const auto done = [&](Index block) { mine(block).store(t + 1, std::memory_order_release); };
      if (!run_tile(unit_of(problem_, start + u), t, rows_of(u), space(worker), false, wait, done)) {
        finite[static_cast<std::size_t>(u)].store(false);
      }
    });
    ctx_.pool().run(units * blocks_, workers, [&](int, Index task) {
      const Unit unit = unit_of(problem_, start + task / blocks_);
      const Index first = task % blocks_ * kBlockRows;
      if (first < unit.rows() && !store_queries(unit, first, rows_of(task / blocks_))) {
        finite[static_cast<std::size_t>(task / blocks_)].store(false);
      }
    });
    for (Index u = 0; u < units; ++u) {
      if (!finite[static_cast<std::size_t>(u)].load())
        (void)run_unit(unit_of(problem_, start + u), rows_of(u), 0, true);
    }
  }

  Context& ctx_;
  const Problem& problem_;
  const AttentionSaved& saved_;
  const ConstTensorView& dout_;
  const AttentionGrads& grads_;
  const kernels::AttentionKernels<T>& kernels_;
  const kernels::BackwardKernels<T>& backward_;
  const TilePlan plan_;
  const Index rows_, blocks_, tiles_;
  std::size_t bytes_ = 0;
  T* memory_ = nullptr;
};

}  // namespace

void backward_part(Context& ctx, const AttentionSaved& saved, const ConstTensorView& dout,
                   const AttentionOptions& options, const DropoutOrigin& from, const AttentionGrads& grads) {
  const char* who = "attention_backward";
  Problem problem = check_call(who, saved.q, saved.k, saved.v, options);
  problem.dropout.from = from;
  check_backward(who, problem, saved, dout, grads);
  const CallScope scope(ctx);
  if (!grads.dq.empty() || !grads.dk.empty() || !grads.dv.empty()) {
    compute_in(problem.dtype, [&]<class T>() { Backward<T>(ctx, problem, saved, dout, grads).run(); });
  }
  if (!grads.dbias.empty()) bias_gradient(ctx, problem, saved, dout, grads.dbias);
  if (!grads.dsinks.empty()) sink_gradient(ctx, problem, saved, dout, grads.dsinks);
}

void attention_backward(Context& ctx, const AttentionSaved& saved, ConstTensorView dout,
                        const AttentionOptions& options, const AttentionGrads& grads) {
  backward_part(ctx, saved, dout, options, {}, grads);
}

}  // namespace headlight
