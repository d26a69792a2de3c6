// How products with stored matrices are cut into tasks.
#pragma once

#include <span>
#include <vector>

#include "kernels/stored_rows.h"
#include "nn/cuts.h"
#include "nn/stored_product.h"

namespace headlight::nn {

inline constexpr Index kTaskColumns = 256;  // packed columns of w stay in the second cache

inline kernels::StoredRows rows_of(const StoredMatrix& w) {
  return {w.type(), w.data(), row_bytes(w.type(), w.columns()), w.scales()};
}

inline Index columns_of(const StoredFactor& f) {
  return f.layout == WeightLayout::out_in ? f.w.rows() : f.w.columns();
}
inline Index depth_of(const StoredFactor& f) {
  return f.layout == WeightLayout::out_in ? f.w.columns() : f.w.rows();
}

// Columns of all factors, cut into tasks.
class ColumnTasks {
 public:
  template <class PartsOf>
  ColumnTasks(std::span<const StoredFactor> factors, Index unit, const PartsOf& parts_of) {
    for (const StoredFactor& f : factors) {
      const Cuts cuts(columns_of(f), unit, parts_of(f));
      for (Index n = 0; n < cuts.parts; ++n) tasks_.push_back({&f, cuts.part(n)});
    }
  }
  struct Task {
    const StoredFactor* factor;
    Range columns;
  };
  [[nodiscard]] Index size() const { return static_cast<Index>(tasks_.size()); }
  [[nodiscard]] const Task& operator[](Index n) const { return tasks_[static_cast<std::size_t>(n)]; }

 private:
  std::vector<Task> tasks_;
};

// Many rows with matrices of q8_0, in integers. Only where integer_kernels_for(ctx.target()) has something.
void multiply_integers(Context& ctx, const ConstTensorView& x, std::span<const StoredFactor> factors);

}  // namespace headlight::nn
