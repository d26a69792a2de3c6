// Is one backward sweep over the keys faster than two? One sweep makes each key tile's weights once,
// for dk, dv and dq; dq then has many writers, which take turns in key order. Two sweeps give every
// output one owner, and pay with a second recomputation of the weights: 7 products instead of 5.
//
//   build/release/bench/backward_sweeps [LENGTH [TARGET]]      one causal head of width 64, one thread
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "attention/backward.h"
#include "headlight/headlight.h"
#include "kernels/kernels.h"

namespace headlight {
namespace {

class Sweeps {
 public:
  Sweeps(Context& ctx, const Problem& problem, const AttentionSaved& saved, const ConstTensorView& dout)
      : problem_(problem),
        kernels_(kernels::kernels_for(ctx.target()).f32),
        backward_(kernels::backward_kernels_for(ctx.target()).f32),
        plan_(backward_plan(problem, kernels_)),
        unit_(unit_of(problem, 0)),
        row_memory_(static_cast<std::size_t>(GradRows<float>::elements(problem, problem.q_total))),
        tile_memory_(static_cast<std::size_t>(GradTiles<float>::elements(problem, plan_))),
        rows_(aligned(row_memory_), problem, problem.q_total),
        tiles_(aligned(tile_memory_), problem, plan_) {
    each_block([&](Index first, const GradRows<float>& rows) {
      load_grad_rows(block(first, rows.q), backward_, saved, dout, rows, tiles_);
    });
  }

  void one() {
    each_tile([&](Range range) {
      each_block([&](Index first, const GradRows<float>& rows) {
        on_tile(first, range, rows, [&](const auto& tile, const auto& sums) {
          backward_.keys(tile, sums);
          backward_.rows(tile, sums);
        });
      });
    });
  }

  void two() {
    each_tile([&](Range range) {
      each_block([&](Index first, const GradRows<float>& rows) {
        on_tile(first, range, rows, [&](const auto& tile, const auto& sums) { backward_.keys(tile, sums); });
      });
    });
    each_tile([&](Range range) {
      each_block([&](Index first, const GradRows<float>& rows) {
        on_tile(first, range, rows, [&](const auto& tile, const auto& sums) {
          backward_.weights(tile);
          backward_.rows(tile, sums);
        });
      });
    });
  }

 private:
  static float* aligned(std::vector<float>& memory) {
    memory.resize(memory.size() + 16);
    return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 / sizeof(float);
  }
  [[nodiscard]] Block<float> block(Index first, float* q) const {
    Workspace<float> space;
    space.q = q;
    space.q_stride = rows_.q_stride;
    return Block<float>(problem_, plan_, kernels_, unit_, first,
                        static_cast<int>(std::min<Index>(kBlockRows, problem_.q_total - first)), space);
  }
  template <class Use>
  void each_tile(const Use& use) const {
    for (Index begin = 0; begin < problem_.k_total; begin += plan_.tile_keys) {
      const Range range{begin, std::min(problem_.k_total, begin + plan_.tile_keys)};
      pack_tile(problem_, kernels_, unit_, range, tiles_);
      use(range);
    }
  }
  template <class Use>
  void each_block(const Use& use) const {
    for (Index first = 0; first < problem_.q_total; first += kBlockRows) {
      GradRows<float> rows = rows_;
      rows.q += first * rows.q_stride;
      rows.dq += first * rows.q_stride;
      rows.dout += first * rows.dout_stride;
      rows.shift += first;
      rows.delta += first;
      use(first, rows);
    }
  }
  template <class Use>
  void on_tile(Index first, Range range, const GradRows<float>& rows, const Use& use) const {
    const Block<float> rows_block = block(first, nullptr);
    KeySource<float> source;
    source.keys = tiles_.keys;
    source.first_key = range.begin;
    source.end_key = range.end;
    const kernels::BackwardSums<float> sums{rows.dq,       tiles_.dk,        tiles_.dv,
                                            rows.q_stride, tiles_.dk_stride, tiles_.dv_stride};
    rows_block.for_each_tile(range, source, Workspace<float>(), [&](const kernels::Tile<float>& tile) {
      use(backward_tile(tile, rows_block, range, rows, tiles_, false), sums);
    });
  }

  const Problem& problem_;
  const kernels::AttentionKernels<float>& kernels_;
  const kernels::BackwardKernels<float>& backward_;
  const TilePlan plan_;
  const Unit unit_;
  std::vector<float> row_memory_, tile_memory_;
  const GradRows<float> rows_;
  const GradTiles<float> tiles_;
};

template <class Call>
double best_ms(const Call& call) {
  double best = 1e9;
  for (int run = 0; run < 9; ++run) {
    const auto start = std::chrono::steady_clock::now();
    call();
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace
}  // namespace headlight

int main(int argc, char** argv) {
  using namespace headlight;
  const Index length = argc > 1 ? std::atoll(argv[1]) : 2048;
  Context ctx({.threads = 1, .target = parse_simd_target(argc > 2 ? argv[2] : "auto")});
  const Shape shape{1, 1, length, 64};
  Tensor q(shape), k(shape), v(shape), out(shape), dout(shape), lse({1, 1, length});
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (Tensor* tensor : {&q, &k, &v, &dout}) {
    for (Index i = 0; i < shape.elements(); ++i) tensor->as<float>()[i] = normal(random);
  }
  const AttentionOptions options{.visible = Visibility::causal()};
  attention_forward(ctx, q, k, v, options, out, lse);
  const ConstTensorView qv = q, kv = k, vv = v;
  const Problem problem = check_call("bench", qv, kv, vv, options);
  Sweeps sweeps(ctx, problem, {q, k, v, out, lse}, dout);
  for (int pass = 0; pass < 3; ++pass) {
    const double one = best_ms([&] { sweeps.one(); }), two = best_ms([&] { sweeps.two(); });
    std::printf("%s, L%ld D64 causal: one sweep %.2f ms, two sweeps %.2f ms, ratio %.2f\n",
                std::string(name_of(ctx.target())).c_str(), static_cast<long>(length), one, two, two / one);
  }
}
