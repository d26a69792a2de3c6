#include "nn/stored_product.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/concat.h"
#include "core/float_mode.h"
#include "core/run_tasks.h"
#include "headlight/error.h"
#include "kernels/gemm.h"
#include "kernels/integer_gemm.h"
#include "kernels/matrix_unit.h"
#include "kernels/stored_rows.h"
#include "nn/stored_tasks.h"
#include "nn/unit_product.h"

namespace headlight::nn {
namespace {

using kernels::kStoredDepth;

constexpr Index kBlockRows = 192;  // rows of x that a packed block of w meets at a time
constexpr Index kMostRows = 768;   // rows of x that are packed at a time: a few MB
constexpr std::size_t kSerialBytes = std::size_t{1} << 15;  // less is not worth waking a thread for

void check(const ConstTensorView& x, const StoredFactor& f) {
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorKind::usage, "matmul.stored",
                concat("multiply_stored: ", what, "\n  x is ", name_of(x.dtype()), " ", x.shape().text(),
                       ", w ", name_of(f.w.type()), " ", f.w.shape().text(), ", y ", name_of(f.y.dtype()),
                       " ", f.y.shape().text()));
  };
  if (!f.w.given()) refuse("w was never given");
  if (x.rank() != 2 || x.dtype() != DType::f32 || f.y.rank() != 2 || f.y.dtype() != DType::f32)
    refuse("x and y must be f32 matrices");
  if (x.dim(1) != depth_of(f) || f.y.dim(1) != columns_of(f) || f.y.dim(0) != x.dim(0))
    refuse("shapes do not fit");
  if ((x.stride(1) != 1 && x.dim(1) > 1) || (f.y.stride(1) != 1 && f.y.dim(1) > 1))
    refuse("the last axis must be contiguous");
  if (f.w.type() == StoredType::q8_0 && f.layout == WeightLayout::in_out)
    refuse("blocks of q8_0 lie along the depth: the matrix must be [out, in]");
  if (!f.bias.empty() &&
      (f.bias.rank() != 1 || f.bias.dim(0) != columns_of(f) || f.bias.dtype() != DType::f32))
    refuse(concat("bias must have one f32 per column; it is ", f.bias.shape().text()));
}

// ---- Few rows -----------------------------------------------------------------------------------------

bool rounds(const Context& ctx, const StoredFactor& f) {
  return f.w.type() == StoredType::q8_0 && ctx.activations() == Activations::rounded;
}

kernels::ArrangedFor order_of(const Context& ctx, const StoredFactor& f) {
  if (f.w.type() == StoredType::bf16) return kernels::ArrangedFor::bf16;
  return rounds(ctx, f) ? kernels::ArrangedFor::rounding : kernels::ArrangedFor::others;
}

// x in the orders that multiply_few() wants it in.
class Arranged {
 public:
  Arranged(Context& ctx, const kernels::StoredKernels& kernels, const ConstTensorView& x,
           std::span<const StoredFactor> factors)
      : stride_(kernels.arranged_size(x.dim(1))), size_(x.dim(0) * stride_) {
    data_ = reinterpret_cast<float*>(
        ctx.scratch(Context::kShared, kOrders.size() * sizeof(float) * static_cast<std::size_t>(size_)));
    for (const kernels::ArrangedFor order : kOrders) {
      const bool wanted = std::any_of(factors.begin(), factors.end(),
                                      [&](const StoredFactor& f) { return order_of(ctx, f) == order; });
      for (Index r = 0; wanted && r < x.dim(0); ++r)
        kernels.arrange(order, x.as<float>() + r * x.stride(0), x.dim(1),
                        data_ + static_cast<Index>(order) * size_ + r * stride_);
    }
  }
  [[nodiscard]] const float* rows(kernels::ArrangedFor order) const {
    return data_ + static_cast<Index>(order) * size_;
  }
  [[nodiscard]] Index stride() const { return stride_; }

 private:
  static constexpr std::array kOrders = {kernels::ArrangedFor::bf16, kernels::ArrangedFor::rounding,
                                         kernels::ArrangedFor::others};
  Index stride_, size_;
  float* data_;
};

kernels::FewRows few_rows(const ConstTensorView& x, const StoredFactor& f) {
  return {rows_of(f.w),  f.w.rows(),  x.dim(1),        static_cast<int>(x.dim(0)),
          x.as<float>(), x.stride(0), f.y.as<float>(), f.y.stride(0),
          nullptr,       false};
}

// Threads that are worth waking for these matrices.
int workers_for(const Context& ctx, std::span<const StoredFactor> factors) {
  std::size_t bytes = 0;
  for (const StoredFactor& f : factors) bytes += f.w.bytes();
  return bytes < kSerialBytes ? 1 : ctx.threads();
}

void multiply_few(Context& ctx, const ConstTensorView& x, std::span<const StoredFactor> factors) {
  constexpr Index kUnit = 16;
  const kernels::StoredKernels& kernels = kernels::stored_kernels_for(ctx.target());
  const int workers = workers_for(ctx, factors);
  // Some tasks for every thread, because threads of a busy machine are not equally fast.
  const ColumnTasks tasks(factors, kUnit,
                          [&](const StoredFactor&) { return workers == 1 ? 1 : Index{4} * workers; });
  const Arranged arranged(ctx, kernels, x, factors);
  ctx.pool().run(tasks.size(), workers, [&](int, std::int64_t number) {
    const auto& [f, columns] = tasks[number];
    kernels::FewRows job = few_rows(x, *f);
    job.w = job.w.from(columns.begin);
    job.columns = columns.size();
    job.x = arranged.rows(order_of(ctx, *f));
    job.rounded = rounds(ctx, *f);
    job.x_stride = arranged.stride();
    job.y += columns.begin;
    if (!f->bias.empty()) job.bias = f->bias.as<float>() + columns.begin;
    kernels.multiply_few(job);
  });
}

// A matrix [in, out] is read in long runs, some steps of depth by each task; what they sum up is added in order.
void multiply_few_in_out(Context& ctx, const ConstTensorView& x, const StoredFactor& f) {
  const kernels::StoredKernels& kernels = kernels::stored_kernels_for(ctx.target());
  const Index depth = f.w.rows(), columns = f.w.columns(), rows = x.dim(0);
  const Index stride = round_up(columns, 16), size = rows * stride;
  const Index parts = (depth + kStoredDepth - 1) / kStoredDepth;
  const int workers = workers_for(ctx, {&f, 1});
  const Cuts cuts(columns, 64, workers == 1 ? 1 : std::max<Index>(1, (2 * workers + parts - 1) / parts));
  auto* sums = reinterpret_cast<float*>(
      ctx.scratch(Context::kShared, sizeof(float) * static_cast<std::size_t>(parts * size)));
  ctx.pool().run(parts * cuts.parts, workers, [&](int, std::int64_t number) {
    const Index part = number / cuts.parts, k = part * kStoredDepth;
    const Range range = cuts.part(number % cuts.parts);
    kernels::FewRows job = few_rows(x, f);
    job.w = job.w.from(k);
    job.columns = range.size();
    job.depth = std::min(kStoredDepth, depth - k);
    job.x += k;
    job.y = sums + part * size + range.begin;
    job.y_stride = stride;
    kernels.sum_few_in_out(job, range.begin);
  });
  for (Index r = 0; r < rows; ++r) {
    float* y = f.y.as<float>() + r * f.y.stride(0);
    const float* bias = f.bias.empty() ? nullptr : f.bias.as<float>();
    for (Index part = 0; part < parts; ++part) {
      const float* from = sums + part * size + r * stride;
      for (Index c = 0; c < columns; ++c) {
        if (part > 0) y[c] += from[c];
        else y[c] = bias == nullptr ? from[c] : from[c] + bias[c];
      }
    }
  }
}

// ---- Many rows ----------------------------------------------------------------------------------------

// Up to kMostRows rows of x in strips, [block of depth][strip][depth][rows of a strip].
class PackedLeft {
 public:
  PackedLeft(Context& ctx, const kernels::GemmKernels<float>& gemm, const ConstTensorView& x)
      : rows_(x.dim(0)), depth_(x.dim(1)), padded_(round_up(rows_, gemm.strip)) {
    data_ = reinterpret_cast<float*>(
        ctx.scratch(Context::kShared, sizeof(float) * static_cast<std::size_t>(padded_ * depth_)));
    const Index blocks = (rows_ + kBlockRows - 1) / kBlockRows;
    const Index depths = (depth_ + kStoredDepth - 1) / kStoredDepth;
    ctx.pool().run(blocks * depths, ctx.threads(), [&](int, std::int64_t task) {
      const Index row = task % blocks * kBlockRows, k = task / blocks * kStoredDepth;
      gemm.pack_left(x.as<float>() + row * x.stride(0) + k, x.stride(0),
                     static_cast<int>(std::min(kBlockRows, rows_ - row)), static_cast<int>(deep(k)),
                     const_cast<float*>(at(row, k)));
    });
  }
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index depth() const { return depth_; }
  [[nodiscard]] Index deep(Index k) const { return std::min(kStoredDepth, depth_ - k); }
  [[nodiscard]] const float* at(Index row, Index k) const { return data_ + k * padded_ + row * deep(k); }

 private:
  Index rows_, depth_, padded_;
  float* data_;
};

// One task: its columns of w are packed block after block of depth, and meet all rows of x.
void multiply_columns(const kernels::GemmKernels<float>& gemm, const kernels::StoredKernels& kernels,
                      const PackedLeft& left, const ColumnTasks::Task& task, Index first_row, float* right) {
  const StoredFactor& f = *task.factor;
  const int columns = static_cast<int>(task.columns.size());
  for (Index k = 0; k < left.depth(); k += kStoredDepth) {
    const int deep = static_cast<int>(left.deep(k));
    if (f.layout == WeightLayout::out_in)
      kernels.pack(rows_of(f.w).from(task.columns.begin), k, columns, deep, right);
    else kernels.pack_in_out(rows_of(f.w).from(k), task.columns.begin, columns, deep, right);
    for (Index row = 0; row < left.rows(); row += kBlockRows) {
      gemm.multiply_block(
          {static_cast<int>(std::min(kBlockRows, left.rows() - row)), columns, deep, left.at(row, k), right,
           Index{deep} * gemm.panel, f.y.as<float>() + (first_row + row) * f.y.stride(0) + task.columns.begin,
           f.y.stride(0), k == 0 && !f.bias.empty() ? f.bias.as<float>() + task.columns.begin : nullptr,
           k > 0});
    }
  }
}

void multiply_many(Context& ctx, const ConstTensorView& x, std::span<const StoredFactor> factors) {
  const kernels::GemmKernels<float>& gemm = kernels::gemm_kernels_for(ctx.target()).f32;
  const kernels::StoredKernels& kernels = kernels::stored_kernels_for(ctx.target());
  const ColumnTasks tasks(factors, gemm.panel, [&](const StoredFactor& f) {
    return round_up((columns_of(f) + kTaskColumns - 1) / kTaskColumns, ctx.threads());
  });
  const auto bytes = sizeof(float) * static_cast<std::size_t>((kTaskColumns + gemm.panel) * kStoredDepth);
  for (int worker = 0; worker < ctx.threads(); ++worker) static_cast<void>(ctx.scratch(worker, bytes));
  for (Index first = 0; first < x.dim(0); first += kMostRows) {
    const Index rows = std::min(kMostRows, x.dim(0) - first);
    const PackedLeft left(
        ctx, gemm,
        ConstTensorView(x.as<float>() + first * x.stride(0), DType::f32, {rows, x.dim(1)}, {x.stride(0), 1}));
    ctx.pool().run(tasks.size(), ctx.threads(), [&](int worker, std::int64_t number) {
      multiply_columns(gemm, kernels, left, tasks[number], first,
                       reinterpret_cast<float*>(ctx.scratch(worker, bytes)));
    });
  }
}

void multiply_some_on_unit(Context& ctx, const ConstTensorView& x, std::span<const StoredFactor> factors) {
  std::vector<UnitFactor> some;
  for (const StoredFactor& f : factors) some.push_back({rows_of(f.w), f.layout, f.y, f.bias});
  multiply_in_parts(ctx, 2, x, Side::plain, some);
}

// The way of many rows with a matrix, whatever others are multiplied beside it.
enum class Way { in_f32, in_integers, on_unit };
Way way_of(const Context& ctx, const StoredFactor& f) {
  if (ctx.activations() == Activations::exact || f.w.type() == StoredType::f32) return Way::in_f32;
  if (kernels::matrix_kernels_for(ctx.target()) != nullptr) return Way::on_unit;
  return rounds(ctx, f) && kernels::integer_kernels_for(ctx.target()) != nullptr ? Way::in_integers
                                                                                 : Way::in_f32;
}

void multiply_by_type(Context& ctx, const ConstTensorView& x, std::span<const StoredFactor> factors) {
  const auto multiply = [&](Way way, auto&& how) {
    std::vector<StoredFactor> some;
    for (const StoredFactor& f : factors)
      if (way_of(ctx, f) == way) some.push_back(f);
    if (!some.empty()) how(ctx, x, some);
  };
  multiply(Way::in_f32, multiply_many);
  multiply(Way::in_integers, multiply_integers);
  multiply(Way::on_unit, multiply_some_on_unit);
}

}  // namespace

void multiply_stored(Context& ctx, ConstTensorView x, std::span<const StoredFactor> factors) {
  const DefaultFloatMode float_mode;
  for (const StoredFactor& f : factors) {
    check(x, f);
    if (f.layout != factors.front().layout)
      throw Error(ErrorKind::usage, "matmul.stored",
                  "multiply_stored: matrices of one call must lie the same way");
  }
  if (factors.empty() || x.dim(0) == 0) return;
  const bool few = x.dim(0) <= kernels::kFewRows;
  if (few && factors.front().layout == WeightLayout::out_in) multiply_few(ctx, x, factors);
  else if (few)
    for (const StoredFactor& f : factors) multiply_few_in_out(ctx, x, f);
  else multiply_by_type(ctx, x, factors);
}

void read_row(const Context& ctx, const StoredMatrix& matrix, Index row, float* to) {
  kernels::stored_kernels_for(ctx.target())
      .widen(rows_of(matrix).from(row), 0, static_cast<int>(matrix.columns()), to);
}

}  // namespace headlight::nn
