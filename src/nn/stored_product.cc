#include "nn/stored_product.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/run_tasks.h"
#include "core/team.h"
#include "headlight/error.h"
#include "kernels/byte_gemm.h"
#include "kernels/integer_gemm.h"
#include "kernels/matrix_unit.h"
#include "kernels/stored_rows.h"
#include "nn/lead.h"
#include "nn/packed_product.h"
#include "nn/team_product.h"

namespace headlight::nn {
namespace {

using kernels::kStoredDepth;

constexpr Index kSerialBytes = Index{1} << 15;  // with less work, waking a thread is slower

void check(const ConstTensorView& x, const StoredFactor& f) {
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorKind::usage, "matmul.stored",
                concat("multiply_stored: ", what, "\n  x is ", name_of(x.dtype()), " ", x.shape().text(),
                       ", w ", name_of(f.w.type()), " ", f.w.shape().text(), ", y ", name_of(f.y.dtype()),
                       " ", f.y.shape().text()));
  };
  const bool out_in = f.layout == WeightLayout::out_in;
  const Index columns = out_in ? f.w.rows() : f.w.columns(), depth = out_in ? f.w.columns() : f.w.rows();
  if (!f.w.given()) refuse("the matrix was not loaded");
  if (x.rank() != 2 || x.dtype() != DType::f32 || f.y.rank() != 2 || f.y.dtype() != DType::f32)
    refuse("x and y must be f32 matrices");
  if (x.dim(1) != depth || f.y.dim(1) != columns || f.y.dim(0) != x.dim(0)) refuse("shapes do not fit");
  if ((x.stride(1) != 1 && x.dim(1) > 1) || (f.y.stride(1) != 1 && f.y.dim(1) > 1))
    refuse("the last axis must be contiguous");
  if (block_columns(f.w.type()) > 1 && !out_in)
    refuse(
        concat("blocks of ", name_of(f.w.type()), " run along the input axis: the matrix must be [out, in]"));
  if (!f.bias.empty() && (f.bias.rank() != 1 || f.bias.dim(0) != columns || f.bias.dtype() != DType::f32))
    refuse(concat("bias must have one f32 per column; it is ", f.bias.shape().text()));
}

// ---- Few rows -----------------------------------------------------------------------------------------

bool rounds(const Context& ctx, const Factor& f) {
  return block_columns(f.w.type) > 1 && ctx.activations() == Activations::rounded;
}

kernels::ArrangedFor order_of(const Context& ctx, const Factor& f) {
  if (f.w.type == StoredType::bf16) return kernels::ArrangedFor::bf16;
  if (!rounds(ctx, f)) return kernels::ArrangedFor::others;
  return kernels::is_block_type(f.w.type) ? kernels::ArrangedFor::bytes : kernels::ArrangedFor::rounding;
}

// x in the element orders of multiply_few().
class Arranged {
 public:
  Arranged(Context& ctx, const ConstTensorView& x, std::span<const Factor> factors)
      : stride_(std::max(kernels::stored_kernels_for(ctx.target()).arranged_size(x.dim(1)),
                         kernels::block_kernels_for(ctx.target()).arranged_size(x.dim(1)))),
        size_(x.dim(0) * stride_) {
    data_ = reinterpret_cast<float*>(
        ctx.scratch(Context::kShared, kOrders.size() * sizeof(float) * static_cast<std::size_t>(size_)));
    for (const kernels::ArrangedFor order : kOrders) {
      const bool wanted = std::any_of(factors.begin(), factors.end(),
                                      [&](const Factor& f) { return order_of(ctx, f) == order; });
      const kernels::StoredKernels& kernels = order == kernels::ArrangedFor::bytes
                                                  ? kernels::block_kernels_for(ctx.target())
                                                  : kernels::stored_kernels_for(ctx.target());
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
                                         kernels::ArrangedFor::others, kernels::ArrangedFor::bytes};
  Index stride_, size_;
  float* data_;
};

kernels::FewRows few_rows(const ConstTensorView& x, const Factor& f) {
  return {f.w,           f.columns(), x.dim(1),        static_cast<int>(x.dim(0)),
          x.as<float>(), x.stride(0), f.y.as<float>(), f.y.stride(0),
          nullptr,       false};
}

// The number of threads that these matrices are large enough for.
int workers_for(const Context& ctx, Index depth, std::span<const Factor> factors) {
  Index bytes = 0;
  for (const Factor& f : factors)
    bytes += f.w.step * (f.layout == WeightLayout::out_in ? f.columns() : depth);
  return bytes < kSerialBytes ? 1 : ctx.threads();
}

void multiply_few(Context& ctx, const ConstTensorView& x, std::span<const Factor> factors) {
  constexpr Index kUnit = 16;
  const int workers = workers_for(ctx, x.dim(1), factors);
  std::vector<FactorColumns> tasks;
  for (const Factor& f : factors) {
    // Several tasks per thread, because threads of a busy machine are not equally fast.
    const Cuts cuts(f.columns(), kUnit, workers == 1 ? 1 : Index{4} * workers);
    for (Index n = 0; n < cuts.parts; ++n) tasks.push_back({&f, cuts.part(n)});
  }
  const Arranged arranged(ctx, x, factors);
  run_tasks(ctx, static_cast<Index>(tasks.size()), workers, [&](int, Index number) {
    const auto& [f, columns] = tasks[static_cast<std::size_t>(number)];
    kernels::FewRows job = few_rows(x, *f);
    job.w = job.w.from(columns.begin);
    job.columns = columns.size();
    job.x = arranged.rows(order_of(ctx, *f));
    job.rounded = rounds(ctx, *f);
    job.x_stride = arranged.stride();
    job.y += columns.begin;
    if (!f->bias.empty()) job.bias = f->bias.as<float>() + columns.begin;
    kernels::stored_kernels_for(ctx.target(), job.w.type).multiply_few(job);
  });
}

// A matrix [in, out] is read in long runs. Each task covers part of the depth; the partial sums are added in order.
void multiply_few_in_out(Context& ctx, const ConstTensorView& x, const Factor& f) {
  const kernels::StoredKernels& kernels = kernels::stored_kernels_for(ctx.target());
  const Index depth = x.dim(1), columns = f.columns(), rows = x.dim(0);
  const Index stride = round_up(columns, 16), size = rows * stride;
  const Index parts = (depth + kStoredDepth - 1) / kStoredDepth;
  const int workers = workers_for(ctx, depth, {&f, 1});
  const Cuts cuts(columns, 64, workers == 1 ? 1 : std::max<Index>(1, (2 * workers + parts - 1) / parts));
  auto* sums = reinterpret_cast<float*>(
      ctx.scratch(Context::kShared, sizeof(float) * static_cast<std::size_t>(parts * size)));
  run_tasks(ctx, parts * cuts.parts, workers, [&](int, Index number) {
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

// 8-bit numbers in rows whose depth is whole blocks of 32: q8_0, and int8, whose row is blocks of one scale.
bool takes_integers(const Factor& f, Index depth) {
  if (f.w.type == StoredType::q8_0) return true;
  return f.w.type == StoredType::int8 && f.layout == WeightLayout::out_in && depth % kQ8Columns == 0;
}

// The arithmetic of products with many rows. It does not depend on the other matrices of the call.
enum class Arithmetic { f32, integers, bytes, matrix_unit };
Arithmetic arithmetic_of(const Context& ctx, const Factor& f, Index depth) {
  if (ctx.activations() == Activations::exact || f.w.type == StoredType::f32) return Arithmetic::f32;
  if (kernels::matrix_kernels_for(ctx.target()) != nullptr) return Arithmetic::matrix_unit;
  if (kernels::is_block_type(f.w.type)) {
    const kernels::ByteKernels* bytes = kernels::byte_kernels_for(ctx.target());
    return bytes != nullptr && bytes->takes(f.w.type) ? Arithmetic::bytes : Arithmetic::f32;
  }
  const kernels::IntegerKernels* integers = kernels::integer_kernels_for(ctx.target());
  return integers != nullptr && takes_integers(f, depth) ? Arithmetic::integers : Arithmetic::f32;
}

void multiply_many(Context& ctx, const ConstTensorView& x, std::span<const Factor> factors) {
  for (const Arithmetic arithmetic :
       {Arithmetic::f32, Arithmetic::integers, Arithmetic::bytes, Arithmetic::matrix_unit}) {
    std::vector<Factor> some;
    std::copy_if(factors.begin(), factors.end(), std::back_inserter(some),
                 [&](const Factor& f) { return arithmetic_of(ctx, f, x.dim(1)) == arithmetic; });
    if (some.empty()) continue;
    const ColumnProduct product{x, MatrixForm::plain, some};
    if (arithmetic == Arithmetic::f32) multiply_as_f32(ctx, product);
    else if (arithmetic == Arithmetic::integers) multiply_as_integers(ctx, product);
    else if (arithmetic == Arithmetic::bytes) multiply_as_bytes(ctx, product);
    else multiply_in_parts(ctx, 2, product);
  }
}

}  // namespace

kernels::StoredRows rows_of(const StoredMatrix& w) {
  return {w.type(), w.data(), row_bytes(w.type(), w.columns()), w.scales()};
}

void multiply_factors(Context& ctx, const ConstTensorView& x, std::span<const Factor> factors) {
  const bool few = x.dim(0) <= kernels::kFewRows;
  if (few && factors.front().layout == WeightLayout::out_in) multiply_few(ctx, x, factors);
  else if (few)
    for (const Factor& f : factors) multiply_few_in_out(ctx, x, f);
  else multiply_many(ctx, x, factors);
}

void multiply_stored(Context& ctx, ConstTensorView x, std::span<const StoredFactor> given) {
  const CallScope scope(ctx);
  std::vector<Factor> factors;
  for (const StoredFactor& f : given) {
    check(x, f);
    if (f.layout != given.front().layout)
      throw Error(ErrorKind::usage, "matmul.stored",
                  "multiply_stored: matrices of one call must have the same layout");
    factors.push_back({rows_of(f.w), f.layout, f.y, f.bias});
  }
  if (factors.empty() || x.dim(0) == 0) return;
  const auto here = [&](std::span<const Factor> some) { multiply_factors(ctx, x, some); };
  if (auto* lead = dynamic_cast<LeadExecutor*>(ctx.executor().get()))
    return lead->multiply(x, factors, ctx.activations(), here);
  Team* const team = team_of(ctx, Together::products);
  if (team == nullptr) return here(factors);
  multiply_in_team(*team, x.dim(0), x.dim(1), factors, here);
}

void read_row(const Context& ctx, const StoredMatrix& matrix, Index row, float* to) {
  kernels::stored_kernels_for(ctx.target(), matrix.type())
      .widen(rows_of(matrix).from(row), 0, static_cast<int>(matrix.columns()), to);
}

}  // namespace headlight::nn
