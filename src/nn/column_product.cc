// Products whose left side is shared: about a hundred rows of x are packed at a time, and each task multiplies all of
// them with its columns of a matrix. Four sets of kernels define how both sides are packed and multiplied.
#include <vector>

#include "kernels/byte_gemm.h"
#include "kernels/gemm.h"
#include "kernels/integer_gemm.h"
#include "kernels/matrix_unit.h"
#include "nn/packed_product.h"

namespace headlight::nn {
namespace {

constexpr Index kMostRows = 768;   // of x that are packed at a time: a few MB
constexpr Index kBlockRows = 192;  // of these, multiplied with a packed block of columns together

struct Left {
  ConstTensorView x;
  MatrixForm form;
  Range rows;
  Index depth;
  [[nodiscard]] const float* row(Index r) const {
    return x.as<float>() + (rows.begin + r) * (form == MatrixForm::plain ? x.stride(0) : 1);
  }
};
// Rows of x and columns of a matrix over `deep` steps from step k on, and the address of their product.
struct Meeting {
  Index row, k, column;
  int rows, columns, deep;
  float* c;
  Index c_stride;
  const float* bias;
  bool accumulate;
};

template <class Kernels>
class Columns {
 public:
  static constexpr Index kDepth = Kernels::kDepth;
  static_assert(kMostRows % kBlockRows == 0);

  Columns(const Kernels& kernels, const Left& left, std::span<const FactorColumns> tasks)
      : kernels_(kernels), left_(left), tasks_(tasks) {}
  [[nodiscard]] Index depth() const { return left_.depth; }
  [[nodiscard]] std::size_t shared_bytes() const {
    return static_cast<std::size_t>(kernels_.left_bytes(left_));
  }
  [[nodiscard]] std::size_t own_bytes() const {
    return static_cast<std::size_t>(std::max(kernels_.right_bytes(Kernels::kTaskColumns + kernels_.panel()),
                                             kernels_.rounding_bytes(left_)));
  }
  [[nodiscard]] Index pieces() const { return (left_.rows.size() + kernels_.strip() - 1) / kernels_.strip(); }
  [[nodiscard]] Index tasks() const { return static_cast<Index>(tasks_.size()); }

  void pack_shared(Index piece, std::byte* shared, std::byte* own) const {
    const Index row = piece * kernels_.strip();
    kernels_.pack_left(left_, row,
                       static_cast<int>(std::min<Index>(kernels_.strip(), left_.rows.size() - row)), shared,
                       own);
  }
  void pack_own(Index number, Index k, int deep, std::byte* own) const {
    const FactorColumns& task = tasks_[static_cast<std::size_t>(number)];
    kernels_.pack_right(*task.factor, task.columns, k, deep, own);
  }
  void multiply(Index number, Index k, int deep, const std::byte* shared, const std::byte* own) const {
    const auto& [factor, columns] = tasks_[static_cast<std::size_t>(number)];
    const Factor& f = *factor;
    const float* bias = k == 0 && !f.bias.empty() ? f.bias.as<float>() + columns.begin : nullptr;
    for (Index row = 0; row < left_.rows.size(); row += kBlockRows) {
      const int rows = static_cast<int>(std::min(kBlockRows, left_.rows.size() - row));
      float* c = f.y.as<float>() + (left_.rows.begin + row) * f.y.stride(0) + columns.begin;
      kernels_.multiply(left_,
                        {row, k, columns.begin, rows, static_cast<int>(columns.size()), deep, c,
                         f.y.stride(0), bias, k > 0 || f.accumulate},
                        f, shared, own);
    }
  }

 private:
  const Kernels& kernels_;
  const Left& left_;
  std::span<const FactorColumns> tasks_;
};

template <class Kernels>
void multiply_columns(Context& ctx, const Kernels& kernels, const ColumnProduct& product) {
  std::vector<FactorColumns> tasks;
  for (const Factor& f : product.factors) {
    constexpr Index kWide = Kernels::kTaskColumns;
    const Cuts cuts(f.columns(), kernels.panel(), round_up((f.columns() + kWide - 1) / kWide, ctx.threads()));
    for (Index n = 0; n < cuts.parts; ++n) tasks.push_back({&f, cuts.part(n)});
  }
  const int row_axis = product.form == MatrixForm::plain ? 0 : 1;
  const Index rows = product.x.dim(row_axis), depth = product.x.dim(1 - row_axis);
  for (Index first = 0; first < rows; first += kMostRows) {
    const Left left{product.x, product.form, {first, std::min(rows, first + kMostRows)}, depth};
    multiply_packed(ctx, Columns<Kernels>(kernels, left, tasks));
  }
}

// Strips of gemm.h, [block of depth][strip][depth][rows of a strip].
struct F32Kernels {
  static constexpr Index kDepth = kernels::kStoredDepth,
                         kTaskColumns = 256;  // packed, they stay in the second cache
  const kernels::GemmKernels<float>& gemm;
  SimdTarget target;

  [[nodiscard]] int strip() const { return gemm.strip; }
  [[nodiscard]] int panel() const { return gemm.panel; }
  [[nodiscard]] Index padded(const Left& left) const { return round_up(left.rows.size(), gemm.strip); }
  [[nodiscard]] Index left_bytes(const Left& left) const { return 4 * padded(left) * left.depth; }
  [[nodiscard]] static Index right_bytes(Index columns) { return 4 * columns * kDepth; }
  [[nodiscard]] static Index rounding_bytes(const Left&) { return 0; }
  [[nodiscard]] Index place(const Left& left, Index row, Index k) const {
    return k * padded(left) + row * std::min(kDepth, left.depth - k);
  }

  void pack_left(const Left& left, Index row, int rows, std::byte* shared, std::byte*) const {
    auto* strips = reinterpret_cast<float*>(shared);
    for (Index k = 0; k < left.depth; k += kDepth)
      gemm.pack_left(left.row(row) + k, left.x.stride(0), rows,
                     static_cast<int>(std::min(kDepth, left.depth - k)), strips + place(left, row, k));
  }
  void pack_right(const Factor& f, Range columns, Index k, int deep, std::byte* own) const {
    auto* right = reinterpret_cast<float*>(own);
    const int n = static_cast<int>(columns.size());
    const kernels::StoredKernels& stored = kernels::stored_kernels_for(target, f.w.type);
    if (f.layout == WeightLayout::out_in) stored.pack(f.w.from(columns.begin), k, n, deep, right);
    else stored.pack_in_out(f.w.from(k), columns.begin, n, deep, right);
  }
  void multiply(const Left& left, const Meeting& m, const Factor&, const std::byte* shared,
                const std::byte* own) const {
    gemm.multiply_block({m.rows, m.columns, m.deep,
                         reinterpret_cast<const float*>(shared) + place(left, m.row, m.k),
                         reinterpret_cast<const float*>(own), Index{m.deep} * gemm.panel, m.c, m.c_stride,
                         m.bias, m.accumulate});
  }
};

// Numbers and factors of integer_gemm.h; all numbers of the left side come before its factors.
struct Integers {
  using Kernels = kernels::IntegerKernels;
  static constexpr int kBlocks = 8;  // of depth: a panel of w stays in the first cache
  static constexpr Index kDepth = kBlocks * kQ8Columns, kTaskColumns = 256;
  static constexpr Index kNumbers = Kernels::kPairs;  // 32 bits each, of a row or column in a block
  static_assert(kBlockRows % Kernels::kStrip == 0);
  const Kernels& integers;
  const kernels::StoredKernels& stored;

  [[nodiscard]] static int strip() { return Kernels::kStrip; }
  [[nodiscard]] static int panel() { return Kernels::kPanel; }
  [[nodiscard]] static Index blocks(const Left& left) { return left.depth / kQ8Columns; }
  [[nodiscard]] static Index factors(const Left& left) {
    return round_up(left.rows.size(), Kernels::kStrip) * blocks(left);
  }
  [[nodiscard]] static Index left_bytes(const Left& left) { return 4 * factors(left) * (kNumbers + 1); }
  [[nodiscard]] static Index right_bytes(Index columns) { return 4 * columns * kBlocks * (kNumbers + 1); }
  [[nodiscard]] Index rounding_bytes(const Left& left) const {
    return 4 * stored.arranged_size(left.depth) * Kernels::kStrip;
  }
  [[nodiscard]] static float* right_factors(std::byte* own, Index columns) {
    return reinterpret_cast<float*>(own) + round_up(columns, Kernels::kPanel) * kBlocks * kNumbers;
  }

  void pack_left(const Left& left, Index row, int rows, std::byte* shared, std::byte* own) const {
    auto* rounded = reinterpret_cast<float*>(own);
    const Index stride = stored.arranged_size(left.depth);
    for (int r = 0; r < rows; ++r)
      stored.arrange(kernels::ArrangedFor::rounding, left.row(row + r), left.depth, rounded + r * stride);
    auto* numbers = reinterpret_cast<std::int32_t*>(shared);
    integers.pack_left(rounded, stride, rows, left.depth, numbers + row * blocks(left) * kNumbers,
                       reinterpret_cast<float*>(numbers + factors(left) * kNumbers) + row * blocks(left));
  }
  void pack_right(const Factor& f, Range columns, Index k, int deep, std::byte* own) const {
    integers.pack_right(f.w.from(columns.begin), k / kQ8Columns, static_cast<int>(columns.size()),
                        deep / static_cast<int>(kQ8Columns), reinterpret_cast<std::int32_t*>(own),
                        right_factors(own, columns.size()));
  }
  void multiply(const Left& left, const Meeting& m, const Factor&, const std::byte* shared,
                const std::byte* own) const {
    const auto* numbers = reinterpret_cast<const std::int32_t*>(shared);
    const Index place = m.row * blocks(left) + m.k / kQ8Columns * Kernels::kStrip;
    integers.multiply(
        {.rows = m.rows,
         .columns = m.columns,
         .blocks = m.deep / static_cast<int>(kQ8Columns),
         .left = numbers + place * kNumbers,
         .left_factors = reinterpret_cast<const float*>(numbers + factors(left) * kNumbers) + place,
         .left_blocks = blocks(left),
         .right = reinterpret_cast<const std::int32_t*>(own),
         .right_factors = right_factors(const_cast<std::byte*>(own), m.columns),
         .c = m.c,
         .c_stride = m.c_stride,
         .bias = m.bias,
         .accumulate = m.accumulate});
  }
};

// Words of byte_gemm.h.
struct Bytes {
  using Kernels = kernels::ByteKernels;
  static constexpr Index kDepth = 256, kTaskColumns = 256;  // a panel of w stays in the first cache
  static constexpr Index kParts = kDepth / Kernels::kPart;
  const Kernels& bytes;
  const kernels::StoredKernels& blocks;

  [[nodiscard]] int strip() const { return bytes.strip; }
  [[nodiscard]] int panel() const { return bytes.panel; }
  [[nodiscard]] static Index parts(const Left& left) { return left.depth / Kernels::kPart; }
  // Of a row, in all strips before it.
  [[nodiscard]] static Index place(const Left& left, Index row) {
    return row * parts(left) * Kernels::kLeftWords;
  }
  [[nodiscard]] Index left_bytes(const Left& left) const {
    return 4 * place(left, round_up(left.rows.size(), bytes.strip));
  }
  [[nodiscard]] static Index right_bytes(Index columns) {
    return 4 * columns * kParts * Kernels::kRightWords;
  }
  [[nodiscard]] Index rounding_bytes(const Left& left) const {
    return 4 * blocks.arranged_size(left.depth) * bytes.strip;
  }

  void pack_left(const Left& left, Index row, int rows, std::byte* shared, std::byte* own) const {
    auto* rounded = reinterpret_cast<float*>(own);
    const Index stride = blocks.arranged_size(left.depth);
    for (int r = 0; r < rows; ++r)
      blocks.arrange(kernels::ArrangedFor::bytes, left.row(row + r), left.depth, rounded + r * stride);
    bytes.pack_left(rounded, stride, rows, left.depth,
                    reinterpret_cast<std::int32_t*>(shared) + place(left, row));
  }
  void pack_right(const Factor& f, Range columns, Index k, int deep, std::byte* own) const {
    bytes.pack_right(f.w.from(columns.begin), k / Kernels::kPart, static_cast<int>(columns.size()),
                     deep / static_cast<int>(Kernels::kPart), reinterpret_cast<std::int32_t*>(own));
  }
  void multiply(const Left& left, const Meeting& m, const Factor& f, const std::byte* shared,
                const std::byte* own) const {
    bytes.multiply({.rows = m.rows,
                    .columns = m.columns,
                    .parts = m.deep / static_cast<int>(Kernels::kPart),
                    .type = f.w.type,
                    .left = reinterpret_cast<const std::int32_t*>(shared) + place(left, m.row) +
                            m.k / Kernels::kPart * Kernels::kLeftWords * bytes.strip,
                    .left_parts = parts(left),
                    .right = reinterpret_cast<const std::int32_t*>(own),
                    .c = m.c,
                    .c_stride = m.c_stride,
                    .bias = m.bias,
                    .accumulate = m.accumulate});
  }
};

// Tiles of matrix_unit.h.
struct Parts {
  using Kernels = kernels::MatrixKernels;
  static constexpr Index kDepth = kernels::kStoredDepth;
  static constexpr Index kTaskColumns = 512;  // packed, they stay in the second cache
  static_assert(kBlockRows % Kernels::kStrip == 0 && kDepth % Kernels::kStep == 0);
  const Kernels& unit;
  int parts;

  [[nodiscard]] static int strip() { return Kernels::kStrip; }
  [[nodiscard]] static int panel() { return Kernels::kPanel; }
  [[nodiscard]] Index left_bytes(const Left& left) const {
    return round_up(left.rows.size(), Kernels::kStrip) / Kernels::kStrip * strip_bytes(left);
  }
  [[nodiscard]] static Index right_bytes(Index columns) { return 4 * columns * kDepth; }
  [[nodiscard]] static Index rounding_bytes(const Left&) { return 0; }
  [[nodiscard]] Index strip_bytes(const Left& left) const {
    return Kernels::steps_of(left.depth) * parts * Kernels::kTileBytes;
  }
  // int8 numbers are exact in one bf16; their sums are scaled at the end.
  [[nodiscard]] static bool scaled_last(const Factor& f) {
    return f.w.type == StoredType::int8 && f.layout == WeightLayout::out_in;
  }
  [[nodiscard]] int parts_of(const Factor& f) const {
    return f.w.type == StoredType::bf16 || scaled_last(f) ? 1 : parts;
  }

  void pack_left(const Left& left, Index row, int rows, std::byte* shared, std::byte*) const {
    const auto pack = left.form == MatrixForm::plain ? unit.pack_left : unit.pack_left_transposed;
    pack(left.row(row), left.x.stride(0), rows, left.depth, parts,
         shared + row / Kernels::kStrip * strip_bytes(left));
  }
  void pack_right(const Factor& f, Range columns, Index k, int deep, std::byte* own) const {
    const int n = static_cast<int>(columns.size());
    if (f.layout == WeightLayout::out_in)
      unit.pack_right(f.w.from(columns.begin), k, n, deep, parts_of(f), own);
    else unit.pack_right_in_out(f.w.from(k), columns.begin, n, deep, parts_of(f), own);
  }
  void multiply(const Left& left, const Meeting& m, const Factor& f, const std::byte* shared,
                const std::byte* own) const {
    unit.multiply({.rows = m.rows,
                   .columns = m.columns,
                   .steps = static_cast<int>(Kernels::steps_of(m.deep)),
                   .left_parts = parts,
                   .right_parts = parts_of(f),
                   .left = shared + m.row / Kernels::kStrip * strip_bytes(left) +
                           m.k / Kernels::kStep * parts * Kernels::kTileBytes,
                   .left_steps = Kernels::steps_of(left.depth),
                   .right = own,
                   .c = m.c,
                   .c_stride = m.c_stride,
                   .bias = scaled_last(f) ? nullptr : m.bias,
                   .accumulate = m.accumulate});
    if (scaled_last(f) && m.k + m.deep == left.depth) scale(m, f);
  }
  static void scale(const Meeting& m, const Factor& f) {
    const float* scales = f.w.scales + m.column;
    for (int r = 0; r < m.rows; ++r) {
      float* c = m.c + r * m.c_stride;
      if (f.bias.empty())
        for (int j = 0; j < m.columns; ++j) c[j] *= scales[j];
      else
        for (int j = 0; j < m.columns; ++j) c[j] = c[j] * scales[j] + (f.bias.as<float>() + m.column)[j];
    }
  }
};

}  // namespace

void multiply_as_f32(Context& ctx, const ColumnProduct& product) {
  const F32Kernels kernels{kernels::gemm_kernels_for(ctx.target()).f32, ctx.target()};
  multiply_columns(ctx, kernels, product);
}

void multiply_as_integers(Context& ctx, const ColumnProduct& product) {
  const Integers kernels{*kernels::integer_kernels_for(ctx.target()),
                         kernels::stored_kernels_for(ctx.target())};
  multiply_columns(ctx, kernels, product);
}

void multiply_as_bytes(Context& ctx, const ColumnProduct& product) {
  const Bytes kernels{*kernels::byte_kernels_for(ctx.target()), kernels::block_kernels_for(ctx.target())};
  multiply_columns(ctx, kernels, product);
}

void multiply_in_parts(Context& ctx, int parts, const ColumnProduct& product) {
  const Parts kernels{
      parts == 1 ? *kernels::bf16_kernels_for(ctx.target()) : *kernels::matrix_kernels_for(ctx.target()),
      parts};
  multiply_columns(ctx, kernels, product);
}

}  // namespace headlight::nn
