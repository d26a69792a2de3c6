#include "attention/short_units.h"

#include "attention/forward_block.h"

namespace headlight {

template <class T>
ShortUnits<T>::ShortUnits(const Context& ctx, const Problem& p, const AttentionOutputs& o)
    : problem_(p), outputs_(o) {
  using Limits = kernels::ShortUnit<T>;
  const AttentionOptions& options = *p.options;
  const Index lanes = kernels::kernels_for(ctx.target()).of<T>().lanes;
  if (p.cache != nullptr || p.dtype != (sizeof(T) == 4 ? DType::f32 : DType::f64) ||
      p.k_longest > Limits::kKeys || p.dim > Limits::kDim || p.value_dim % lanes != 0 ||
      p.q_longest * p.group > kBlockRows || o.out.empty() || !is_plain(p, o)) {
    return;
  }
  kernel_ = kernels::short_kernels_for(ctx.target()).of<T>();
  alike_ = !p.packed && options.q_lengths.empty() && options.k_lengths.empty();
  if (alike_ && p.sequences > 0) find_runs(unit_of(p, 0), runs_);
}

template <class T>
void ShortUnits<T>::find_runs(const Unit& unit, Runs& runs) const {
  for (Index r = 0; r < unit.rows(); ++r) {
    const Range keys = problem_.keys_for(unit.sequence, r / unit.heads);
    runs.begin[r] = static_cast<std::int32_t>(keys.begin);
    runs.end[r] = static_cast<std::int32_t>(keys.end);
  }
}

template <class T>
bool ShortUnits<T>::run(const Unit& unit, const KeySource<T>& source, kernels::FetchAhead* ahead) const {
  const Problem& p = problem_;
  const Sequence& sequence = unit.sequence;
  Runs own;
  if (!alike_) find_runs(unit, own);
  kernels::ShortUnit<T> work;
  work.rows = static_cast<int>(unit.rows());
  work.dim = static_cast<int>(p.dim), work.value_dim = static_cast<int>(p.value_dim);
  work.factor = static_cast<T>(p.scale * kLog2E);
  work.begin = alike_ ? runs_.begin : own.begin, work.end = alike_ ? runs_.end : own.end;
  work.keys = source.keys;
  work.values = source.values, work.value_stride = source.value_stride;
  work.ahead = ahead;
  for (Index head = 0, n = unit.heads; head < n; ++head) {
    const T* q = p.q.as<T>() + row_offset(p.q, sequence.batch, unit.first_head + head, sequence.q_start);
    T* out = outputs_.out.as<T>() +
             row_offset(outputs_.out, sequence.batch, unit.first_head + head, sequence.q_start);
    for (Index i = 0; i < sequence.q_rows; ++i) {
      work.q[i * n + head] = q + i * p.q.stride(2);
      work.out[i * n + head] = out + i * outputs_.out.stride(2);
    }
  }
  if (!kernel_(work)) return false;
  for (Index r = 0; r < unit.rows() && !outputs_.lse.empty(); ++r) {
    constexpr double kNoSink = -std::numeric_limits<double>::infinity();
    outputs_.lse
        .as<T>()[statistic_offset(outputs_.lse, sequence, unit.first_head + r % unit.heads, r / unit.heads)] =
        static_cast<T>(row_scale(work.max[r], work.sum[r], T{1}, kNoSink, true).lse);
  }
  return true;
}

template class ShortUnits<float>;
template class ShortUnits<double>;

}  // namespace headlight
