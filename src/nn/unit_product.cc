#include "nn/unit_product.h"

#include <algorithm>
#include <vector>

#include "core/run_tasks.h"
#include "kernels/matrix_unit.h"
#include "nn/cuts.h"

namespace headlight::nn {
namespace {

using kernels::kStoredDepth;
using kernels::MatrixKernels;

constexpr Index kMostRows = 768;   // rows of x that are packed at a time: a few MB
constexpr Index kBlockRows = 192;  // of them meet a packed block of w at a time
constexpr Index kColumns = 512;    // of w that are packed at a time: more, and they leave the second cache
constexpr Index kStrip = MatrixKernels::kStrip, kTileBytes = MatrixKernels::kTileBytes;

// Some rows of x, in parts.
class SplitLeft {
 public:
  SplitLeft(Context& ctx, const MatrixKernels& kernels, int parts, const ConstTensorView& x, Side side,
            Range rows)
      : parts_(parts),
        rows_(rows.size()),
        depth_(x.dim(side == Side::plain ? 1 : 0)),
        steps_(MatrixKernels::steps_of(depth_)) {
    const Index strips = (rows_ + kStrip - 1) / kStrip, strip_bytes = steps_ * parts * kTileBytes;
    data_ = ctx.scratch(Context::kShared, static_cast<std::size_t>(strips * strip_bytes));
    const auto pack = side == Side::plain ? kernels.pack_left : kernels.pack_left_transposed;
    const Index step = side == Side::plain ? x.stride(0) : 1;
    ctx.pool().run(strips, ctx.threads(), [&](int, std::int64_t strip) {
      const Index row = strip * kStrip;
      pack(x.as<float>() + (rows.begin + row) * step, x.stride(0),
           static_cast<int>(std::min(kStrip, rows_ - row)), depth_, parts, data_ + strip * strip_bytes);
    });
  }
  [[nodiscard]] int parts() const { return parts_; }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index depth() const { return depth_; }
  [[nodiscard]] Index steps() const { return steps_; }
  // `row` is the first of a strip, `k` the first element of a step.
  [[nodiscard]] const std::byte* at(Index row, Index k) const {
    return data_ + (row / kStrip * steps_ + k / MatrixKernels::kStep) * parts_ * kTileBytes;
  }

 private:
  int parts_;
  Index rows_, depth_, steps_;
  std::byte* data_;
};

struct Task {
  const UnitFactor* factor;
  Range columns;
};

// Columns of w are packed block after block of depth, and meet all rows of x.
void multiply_columns(const MatrixKernels& kernels, const SplitLeft& left, const Task& task, Index first_row,
                      std::byte* right) {
  const UnitFactor& f = *task.factor;
  const int columns = static_cast<int>(task.columns.size());
  const int parts = f.w.type == StoredType::bf16 ? 1 : left.parts();
  for (Index k = 0; k < left.depth(); k += kStoredDepth) {
    const int deep = static_cast<int>(std::min(kStoredDepth, left.depth() - k));
    if (f.layout == WeightLayout::out_in)
      kernels.pack_right(f.w.from(task.columns.begin), k, columns, deep, parts, right);
    else kernels.pack_right_in_out(f.w.from(k), task.columns.begin, columns, deep, parts, right);
    for (Index row = 0; row < left.rows(); row += kBlockRows) {
      kernels.multiply({.rows = static_cast<int>(std::min(kBlockRows, left.rows() - row)),
                        .columns = columns,
                        .steps = static_cast<int>(MatrixKernels::steps_of(deep)),
                        .left_parts = left.parts(),
                        .right_parts = parts,
                        .left = left.at(row, k),
                        .left_steps = left.steps(),
                        .right = right,
                        .c = f.y.as<float>() + (first_row + row) * f.y.stride(0) + task.columns.begin,
                        .c_stride = f.y.stride(0),
                        .bias = k == 0 && !f.bias.empty() ? f.bias.as<float>() + task.columns.begin : nullptr,
                        .accumulate = k > 0 || f.accumulate});
    }
  }
}

}  // namespace

void multiply_in_parts(Context& ctx, int parts, ConstTensorView x, Side side,
                       std::span<const UnitFactor> factors) {
  static_assert(kBlockRows % kStrip == 0 && kMostRows % kBlockRows == 0 &&
                kStoredDepth % MatrixKernels::kStep == 0);
  const MatrixKernels& kernels =
      parts == 1 ? *kernels::bf16_kernels_for(ctx.target()) : *kernels::matrix_kernels_for(ctx.target());
  std::vector<Task> tasks;
  for (const UnitFactor& f : factors) {
    const Index columns = f.y.dim(1);
    const Cuts cuts(columns, MatrixKernels::kPanel,
                    round_up((columns + kColumns - 1) / kColumns, ctx.threads()));
    for (Index n = 0; n < cuts.parts; ++n) tasks.push_back({&f, cuts.part(n)});
  }
  const auto bytes =
      sizeof(float) * static_cast<std::size_t>((kColumns + MatrixKernels::kPanel) * kStoredDepth);
  const Index all_rows = x.dim(side == Side::plain ? 0 : 1);
  for (Index first = 0; first < all_rows; first += kMostRows) {
    const SplitLeft left(ctx, kernels, parts, x, side, {first, std::min(all_rows, first + kMostRows)});
    for (int worker = 0; worker < ctx.threads(); ++worker) static_cast<void>(ctx.scratch(worker, bytes));
    ctx.pool().run(static_cast<Index>(tasks.size()), ctx.threads(), [&](int worker, std::int64_t number) {
      multiply_columns(kernels, left, tasks[static_cast<std::size_t>(number)], first,
                       ctx.scratch(worker, bytes));
    });
  }
}

}  // namespace headlight::nn
