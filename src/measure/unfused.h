// Unfused attention: S = q·kᵀ by one BLAS call, softmax over the rows of S, S·v by another BLAS call.
// It is the baseline for "ratio to unfused", so it is as fast as possible:
// preallocated memory, a vectorised exp, and the faster way to use its threads.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "headlight/tensor.h"
#include "measure/cblas.h"

namespace headlight {
class ThreadPool;
}

namespace headlight::measure {

class Unfused {
 public:
  // `heads` distributes heads over our threads, each with a one-threaded BLAS; `rows` gives each product
  // to all threads of the BLAS. A problem of fewer heads than threads gains only from `rows`.
  enum class Split { heads, rows };
  // The faster of the two for `heads` heads (of all batch items) and this amount of work per call: for
  // a small product, waking several threads takes longer than computing it.
  [[nodiscard]] static Split faster_split(Index heads, double flops, int threads);

  Unfused(const Cblas& blas, int threads, Split split);
  ~Unfused();

  // q [batch, head, query, dim], k and v [batch, kv_head, key, …], f32 and contiguous; the query heads
  // may be a multiple of the kv heads. Causal aligns the queries to the end of the keys. `weights`
  // [batch, head, query, key] receives the softmax if given; otherwise each thread reuses
  // one score matrix.
  void forward(ConstTensorView q, ConstTensorView k, ConstTensorView v, bool causal, TensorView out,
               TensorView weights = {});

  // Memory that forward() needs in addition to its outputs, so that the caller can skip it.
  [[nodiscard]] std::size_t scratch_bytes(Index q_len, Index k_len) const;

 private:
  struct Head;
  void run_head(const Head& head, int worker);

  const Cblas& blas_;
  int threads_;
  Split split_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<Tensor> scores_;  // one per thread that takes heads
};

// scores ← softmax(scores) for `rows` rows of `columns`; row r keeps its first visible(r) columns and
// zeroes the rest: columns when not causal, else r + columns - q_len + 1.
struct SoftmaxRows {
  float* scores;
  Index columns;
  bool causal;
  Index q_len;
};
void softmax_rows(const SoftmaxRows& matrix, Index first, Index last);

}  // namespace headlight::measure
