// Gradients of the bias and the sinks. The bias may be broadcast, so its gradient is a sum over
// batch, heads, queries or keys: each element has one owner, which adds in a fixed order.
#include "attention/backward.h"
#include "attention/reference_row.h"
#include "core/thread_pool.h"
#include "kernels/kernels.h"

namespace headlight {
namespace {

// dbias seen through four axes; an axis of length one takes the sum of all it was broadcast to.
struct Target {
  Index size[4], stride[4];

  Target(const TensorView& dbias) {
    const int lead = 4 - dbias.rank();
    for (int axis = 0; axis < 4; ++axis) {
      size[axis] = axis < lead ? 1 : dbias.dim(axis - lead);
      stride[axis] = axis < lead || size[axis] == 1 ? 0 : dbias.stride(axis - lead);
    }
  }
  [[nodiscard]] Index at(Index b, Index h, Index i, Index j) const {
    return b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3];
  }
};

template <class T>
class BiasGradient {
 public:
  BiasGradient(Context& ctx, const Problem& problem, const AttentionSaved& saved, const ConstTensorView& dout,
               const TensorView& dbias)
      : ctx_(ctx),
        problem_(problem),
        saved_(saved),
        dout_(dout),
        to_(dbias),
        out_(dbias.as<T>()),
        kernels_(kernels_of<T>(ctx, problem)),
        backward_(backward_kernels_of<T>(ctx, problem)),
        plan_(backward_plan(problem, kernels_)) {}

  void run() {
    rows_at_ = GradTiles<T>::elements(problem_, plan_);
    bytes_ = static_cast<std::size_t>(rows_at_ + GradRows<T>::elements(problem_, kBlockRows)) * sizeof(T) +
             sizeof(double) * kernels::kMaxTileKeys;
    for (int w = 0; w < ctx_.threads(); ++w) (void)ctx_.scratch(w, bytes_);
    const Index tiles = to_.size[3] == 1 ? 1 : plan_.tiles(to_.size[3]);
    clear();
    ctx_.pool().run(to_.size[0] * to_.size[1] * tiles, ctx_.threads(), [&](int worker, Index task) {
      const Index b = task / tiles / to_.size[1], h = task / tiles % to_.size[1];
      const Index last = to_.size[3] == 1 ? plan_.tiles(problem_.k_longest) : task % tiles + 1;
      for (Index t = to_.size[3] == 1 ? 0 : task % tiles; t < last; ++t) own_tile(b, h, t, worker);
    });
  }

 private:
  void clear() const {
    for (Index b = 0; b < to_.size[0]; ++b)
      for (Index h = 0; h < to_.size[1]; ++h)
        for (Index i = 0; i < to_.size[2]; ++i)
          for (Index j = 0; j < to_.size[3]; ++j) out_[to_.at(b, h, i, j)] = 0;
  }

  // All batch items and heads that share bias[b, h], against one tile of keys.
  void own_tile(Index b, Index h, Index t, int worker) {
    const Range items = to_.size[0] == 1 ? Range{0, problem_.sequences} : Range{b, b + 1};
    const Range heads = to_.size[1] == 1 ? Range{0, problem_.q_heads} : Range{h, h + 1};
    auto* memory = reinterpret_cast<T*>(ctx_.scratch(worker, bytes_));
    const GradTiles<T> space(memory, problem_, plan_);
    const GradRows<T> rows(memory + rows_at_, problem_, kBlockRows);
    auto* sums =
        reinterpret_cast<double*>(reinterpret_cast<std::byte*>(memory) + bytes_) - kernels::kMaxTileKeys;
    std::fill(sums, sums + kernels::kMaxTileKeys, 0.0);
    const Index begin = t * plan_.tile_keys;
    for (Index item = items.begin; item < items.end; ++item) {
      for (Index head = heads.begin; head < heads.end; ++head) {
        const Unit unit{problem_.sequence(item), head / problem_.group, head, 1};
        const Range range{begin, std::min(begin + plan_.tile_keys, unit.sequence.k_len)};
        if (range.size() > 0) add_head(unit, item, head, range, space, rows, sums);
      }
    }
    if (to_.size[2] == 1 && to_.size[3] > 1) {
      for (Index j = begin; j < std::min(begin + plan_.tile_keys, to_.size[3]); ++j) {
        out_[to_.at(b, h, 0, j)] = static_cast<T>(sums[j - begin]);
      }
    }
  }

  void add_head(const Unit& unit, Index item, Index head, Range range, const GradTiles<T>& space,
                const GradRows<T>& rows, double* sums) const {
    const KeySource<T> source{.keys = space.keys, .first_key = range.begin, .end_key = range.end};
    Workspace<T> queries;
    queries.q = rows.q;
    queries.q_stride = rows.q_stride;
    for (Index first = 0; first < unit.rows(); first += kBlockRows) {
      const Block<T> block(problem_, plan_, kernels_, unit, first, unit.rows(), queries);
      load_grad_rows(block, backward_, saved_, dout_, rows, space);
      pack_tile(problem_, kernels_, unit, range, space);
      block.for_each_tile(range, source, queries, [&](const kernels::Tile<T>& tile) {
        kernels::BackwardTile<T> b = backward_tile(tile, block, range, rows, space, false);
        b.of_scores = true;  // the bias is added after the cap
        backward_.weights(b);
        for (int r = 0; r < block.rows; ++r) {
          const T* ds = space.dp + r * space.scores_stride;
          add_row(item, head, block.query[r], tile.begin[r], tile.end[r], range.begin, ds, sums);
        }
      });
    }
  }

  void add_row(Index item, Index head, Index query, int begin, int end, Index first_key, const T* ds,
               double* sums) const {
    if (to_.size[3] == 1) {
      double sum = 0;
      for (int j = begin; j < end; ++j) sum += static_cast<double>(ds[j]);
      T& to = out_[to_.at(item, head, query, 0)];
      to = static_cast<T>(static_cast<double>(to) + sum);
    } else if (to_.size[2] == 1) {
      for (int j = begin; j < end; ++j) sums[j] += static_cast<double>(ds[j]);
    } else {
      T* to = out_ + to_.at(item, head, query, first_key);
      for (int j = begin; j < end; ++j) to[j * to_.stride[3]] += ds[j];
    }
  }

  Context& ctx_;
  const Problem& problem_;
  const AttentionSaved& saved_;
  const ConstTensorView& dout_;
  const Target to_;
  T* out_;
  const kernels::AttentionKernels<T>& kernels_;
  const kernels::BackwardKernels<T>& backward_;
  const TilePlan plan_;
  Index rows_at_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

void bias_gradient(Context& ctx, const Problem& problem, const AttentionSaved& saved,
                   const ConstTensorView& dout, const TensorView& dbias) {
  compute_in(problem.dtype, [&]<class T>() { BiasGradient<T>(ctx, problem, saved, dout, dbias).run(); });
}

// The sink is a key whose value is zero: its gradient is p·(0 - delta), summed over batch and queries.
void sink_gradient(Context& ctx, const Problem& problem, const AttentionSaved& saved,
                   const ConstTensorView& dout, const TensorView& dsinks) {
  ctx.pool().run(problem.q_heads, ctx.threads(), [&](int, Index head) {
    const double sink = problem.options->sinks.at(head);
    long double sum = 0;  // a sum of many terms, in which biased rounding would be visible even in f64
    for (Index s = 0; s < problem.sequences; ++s) {
      const Sequence sequence = problem.sequence(s);
      for (Index i = 0; i < sequence.q_len && !std::isnan(sum); ++i) {
        const Index token = sequence.q_start + i;
        const double lse = saved.lse.at(sequence.batch, head, token);
        if (problem.keys_for(sequence, i).size() == 0 || lse == -std::numeric_limits<double>::infinity())
          continue;
        double delta = 0;
        for (Index d = 0; d < problem.value_dim; ++d) {
          delta += dout.at(sequence.batch, head, token, d) * saved.out.at(sequence.batch, head, token, d);
        }
        // A row whose keys are all masked has no gradient, whatever its dout.
        if (!std::isfinite(delta) && reference::softmax_row(problem, sequence, head, i).keys.empty())
          continue;
        const double weight = problem.bias.data != nullptr && lse_is_coarse(lse)
                                  ? reference::softmax_row(problem, sequence, head, i).sink_weight
                                  : std::exp(sink - lse);
        sum -= static_cast<long double>(weight) * delta;
      }
    }
    dsinks.set(head, static_cast<double>(sum));
  });
}

}  // namespace headlight
