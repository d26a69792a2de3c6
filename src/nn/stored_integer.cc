// Many rows with matrices of q8_0: both sides in integers, packed for kernels/integer_gemm.h.
#include <algorithm>

#include "core/run_tasks.h"
#include "kernels/integer_gemm.h"
#include "nn/stored_tasks.h"

namespace headlight::nn {
namespace {

using kernels::IntegerKernels;

constexpr Index kMostRows = 768;   // rows of x that are packed at a time: a few MB
constexpr Index kBlockRows = 192;  // of them meet a packed block of w at a time
constexpr int kBlocks = 8;         // of depth: a panel of w stays in the first cache
constexpr Index kStrip = IntegerKernels::kStrip, kPanel = IntegerKernels::kPanel;
constexpr Index kNumbers = IntegerKernels::kPairs;  // 32 bits each, of a row or column in a block

// Rows of x, rounded and packed: numbers, then factors.
class RoundedLeft {
 public:
  RoundedLeft(Context& ctx, const IntegerKernels& kernels, const ConstTensorView& x)
      : rows_(x.dim(0)), blocks_(x.dim(1) / kQ8Columns) {
    const kernels::StoredKernels& stored = kernels::stored_kernels_for(ctx.target());
    const Index depth = x.dim(1), strips = (rows_ + kStrip - 1) / kStrip,
                stride = stored.arranged_size(depth);
    const Index numbers = strips * blocks_ * kNumbers * kStrip, rounded = stride * kStrip;
    numbers_ = reinterpret_cast<std::int32_t*>(ctx.scratch(
        Context::kShared, sizeof(float) * static_cast<std::size_t>(numbers + strips * blocks_ * kStrip)));
    factors_ = reinterpret_cast<float*>(numbers_ + numbers);
    const auto bytes = sizeof(float) * static_cast<std::size_t>(rounded);
    for (int worker = 0; worker < ctx.threads(); ++worker) static_cast<void>(ctx.scratch(worker, bytes));
    ctx.pool().run(strips, ctx.threads(), [&](int worker, std::int64_t strip) {
      auto* some = reinterpret_cast<float*>(ctx.scratch(worker, bytes));
      const Index row = strip * kStrip, n = std::min(kStrip, rows_ - row);
      for (Index r = 0; r < n; ++r)
        stored.arrange(kernels::ArrangedFor::rounding, x.as<float>() + (row + r) * x.stride(0), depth,
                       some + r * stride);
      kernels.pack_left(some, stride, static_cast<int>(n), depth,
                        numbers_ + strip * blocks_ * kNumbers * kStrip, factors_ + strip * blocks_ * kStrip);
    });
  }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index blocks() const { return blocks_; }
  // `row` is the first of a strip.
  [[nodiscard]] const std::int32_t* numbers(Index row, Index block) const {
    return numbers_ + (row * blocks_ + block * kStrip) * kNumbers;
  }
  [[nodiscard]] const float* factors(Index row, Index block) const {
    return factors_ + row * blocks_ + block * kStrip;
  }

 private:
  Index rows_, blocks_;
  std::int32_t* numbers_;
  float* factors_;
};

// One task: its columns of w are packed some blocks at a time, and meet all rows of x.
void multiply_columns(const IntegerKernels& kernels, const RoundedLeft& left, const ColumnTasks::Task& task,
                      Index first_row, std::int32_t* right) {
  const StoredFactor& f = *task.factor;
  const int columns = static_cast<int>(task.columns.size());
  auto* factors = reinterpret_cast<float*>(right + round_up(columns, kPanel) * kBlocks * kNumbers);
  for (Index block = 0; block < left.blocks(); block += kBlocks) {
    const int blocks = static_cast<int>(std::min<Index>(kBlocks, left.blocks() - block));
    kernels.pack_right(rows_of(f.w).from(task.columns.begin), block, columns, blocks, right, factors);
    for (Index row = 0; row < left.rows(); row += kBlockRows) {
      kernels.multiply(
          {.rows = static_cast<int>(std::min(kBlockRows, left.rows() - row)),
           .columns = columns,
           .blocks = blocks,
           .left = left.numbers(row, block),
           .left_factors = left.factors(row, block),
           .left_blocks = left.blocks(),
           .right = right,
           .right_factors = factors,
           .c = f.y.as<float>() + (first_row + row) * f.y.stride(0) + task.columns.begin,
           .c_stride = f.y.stride(0),
           .bias = block == 0 && !f.bias.empty() ? f.bias.as<float>() + task.columns.begin : nullptr,
           .accumulate = block > 0});
    }
  }
}

}  // namespace

void multiply_integers(Context& ctx, const ConstTensorView& x, std::span<const StoredFactor> factors) {
  static_assert(kBlockRows % kStrip == 0 && kMostRows % kBlockRows == 0);
  const IntegerKernels& kernels = *kernels::integer_kernels_for(ctx.target());
  const ColumnTasks tasks(factors, kPanel, [&](const StoredFactor& f) {
    return round_up((columns_of(f) + kTaskColumns - 1) / kTaskColumns, ctx.threads());
  });
  const auto bytes =
      sizeof(float) * static_cast<std::size_t>((kTaskColumns + kPanel) * kBlocks * (kNumbers + 1));
  for (Index first = 0; first < x.dim(0); first += kMostRows) {
    const Index rows = std::min(kMostRows, x.dim(0) - first);
    const RoundedLeft left(
        ctx, kernels,
        ConstTensorView(x.as<float>() + first * x.stride(0), DType::f32, {rows, x.dim(1)}, {x.stride(0), 1}));
    for (int worker = 0; worker < ctx.threads(); ++worker) static_cast<void>(ctx.scratch(worker, bytes));
    ctx.pool().run(tasks.size(), ctx.threads(), [&](int worker, std::int64_t number) {
      multiply_columns(kernels, left, tasks[number], first,
                       reinterpret_cast<std::int32_t*>(ctx.scratch(worker, bytes)));
    });
  }
}

}  // namespace headlight::nn
