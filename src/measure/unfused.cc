#include "measure/unfused.h"

#include <algorithm>
#include <cmath>

#include "core/run_tasks.h"
#include "core/thread_pool.h"

namespace headlight::measure {

struct Unfused::Head {
  const float *q, *k, *v;
  float *out, *scores;  // null scores: memory of the worker
  int q_len, k_len, dim, value_dim;
  bool causal;
};

Unfused::Split Unfused::faster_split(Index heads, double flops, int threads) {
  constexpr double kWorthWaking = 1e6;
  return heads >= threads || flops < kWorthWaking ? Split::heads : Split::rows;
}

Unfused::Unfused(const Cblas& blas, int threads, Split split)
    : blas_(blas), threads_(threads), split_(split), pool_(std::make_unique<ThreadPool>(threads)) {
  scores_.resize(split == Split::heads ? static_cast<std::size_t>(threads) : 1);
}

Unfused::~Unfused() = default;

std::size_t Unfused::scratch_bytes(Index q_len, Index k_len) const {
  return scores_.size() * static_cast<std::size_t>(q_len * k_len) * sizeof(float);
}

void Unfused::run_head(const Head& head, int worker) {
  float* scores = head.scores;
  if (scores == nullptr) scores = scores_[static_cast<std::size_t>(worker)].as<float>();
  const float scale = 1.0F / std::sqrt(static_cast<float>(head.dim));
  blas_.sgemm(Cblas::Transpose::yes, head.q_len, head.k_len, head.dim, scale, {head.q, head.dim},
              {head.k, head.dim}, scores, head.k_len);
  const SoftmaxRows matrix{scores, head.k_len, head.causal, head.q_len};
  if (split_ == Split::rows) {
    constexpr Index kRows = 16;
    run_tasks(*pool_, (head.q_len + kRows - 1) / kRows, threads_, [&](int, std::int64_t block) {
      softmax_rows(matrix, block * kRows, std::min<Index>(head.q_len, (block + 1) * kRows));
    });
  } else {
    softmax_rows(matrix, 0, head.q_len);
  }
  blas_.sgemm(Cblas::Transpose::no, head.q_len, head.value_dim, head.k_len, 1.0F, {scores, head.k_len},
              {head.v, head.value_dim}, head.out, head.value_dim);
}

void Unfused::forward(ConstTensorView q, ConstTensorView k, ConstTensorView v, bool causal, TensorView out,
                      TensorView weights) {
  const Index heads = q.dim(1), group = heads / k.dim(1);
  const Index q_len = q.dim(2), k_len = k.dim(2), dim = q.dim(3), value_dim = v.dim(3);
  const auto head_at = [&](Index number) {
    const Index kv = number / heads * k.dim(1) + number % heads / group;
    float* const scores = weights.empty() ? nullptr : weights.as<float>() + number * q_len * k_len;
    return Head{q.as<float>() + number * q_len * dim,
                k.as<float>() + kv * k_len * dim,
                v.as<float>() + kv * k_len * value_dim,
                out.as<float>() + number * q_len * value_dim,
                scores,
                static_cast<int>(q_len),
                static_cast<int>(k_len),
                static_cast<int>(dim),
                static_cast<int>(value_dim),
                causal};
  };
  const Shape needed{q_len, k_len};  // allocated here: a pool task must not throw
  for (Tensor& scores : scores_) {
    if (weights.empty() && !(scores.shape() == needed)) scores = Tensor(needed);
  }
  const Index count = q.dim(0) * heads;
  blas_.set_threads(split_ == Split::heads ? 1 : threads_);
  if (split_ == Split::heads) {
    run_tasks(*pool_, count, threads_,
              [&](int worker, std::int64_t number) { run_head(head_at(number), worker); });
  } else {
    for (Index number = 0; number < count; ++number) run_head(head_at(number), 0);
  }
}

}  // namespace headlight::measure
