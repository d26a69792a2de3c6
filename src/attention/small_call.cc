// The fast path of tiny calls: see kernels/small_call.h.
#include "kernels/small_call.h"

#include "attention/forward_block.h"

namespace headlight {
namespace {

// Heads together that are worth no thread and no packing.
constexpr Index kMostHeads = 64;

template <class T>
bool run_heads(const Problem& p, const AttentionOutputs& o, const kernels::SmallKernel<T>& kernel) {
  kernels::SmallCall<T> call;
  call.rows = static_cast<int>(p.q_total), call.keys = static_cast<int>(p.k_total);
  call.dim = static_cast<int>(p.dim), call.value_dim = static_cast<int>(p.value_dim);
  call.q_stride = p.q.stride(2), call.k_stride = p.k.stride(2), call.v_stride = p.v.stride(2);
  call.out_stride = o.out.stride(2);
  call.factor = static_cast<T>(p.scale * kLog2E);
  const Sequence any = p.sequence(0);
  for (int r = 0; r < call.rows; ++r) {
    const Range keys = p.keys_for(any, r);
    call.begin[r] = static_cast<std::int32_t>(keys.begin);
    call.end[r] = static_cast<std::int32_t>(keys.end);
  }
  for (Index b = 0; b < p.batch; ++b) {
    for (Index h = 0; h < p.q_heads; ++h) {
      call.q = p.q.as<T>() + row_offset(p.q, b, h, 0);
      call.k = p.k.as<T>() + row_offset(p.k, b, h, 0);
      call.v = p.v.as<T>() + row_offset(p.v, b, h, 0);
      call.out = o.out.as<T>() + row_offset(o.out, b, h, 0);
      if (!kernel.run(call)) return false;
      for (int r = 0; r < call.rows && !o.lse.empty(); ++r) {
        constexpr double kNoSink = -std::numeric_limits<double>::infinity();
        o.lse.as<T>()[row_offset(o.lse, b, h, r)] =
            static_cast<T>(row_scale(call.max[r], call.sum[r], T{1}, kNoSink, true).lse);
      }
    }
  }
  return true;
}

}  // namespace

template <class T>
bool run_small_call(const Context& ctx, const Problem& p, const AttentionOutputs& o) {
  using Call = kernels::SmallCall<T>;
  if (p.q_total > Call::kRows || p.dim > Call::kDim || p.value_dim > Call::kDim ||
      p.batch * p.q_heads > kMostHeads || p.dtype != (sizeof(T) == 4 ? DType::f32 : DType::f64)) {
    return false;
  }
  const bool whole = !p.packed && p.options->q_lengths.empty() && p.options->k_lengths.empty();
  if (p.q_total * p.k_total * p.batch * p.q_heads == 0 || p.cache != nullptr || p.group > 1 || !whole ||
      !is_plain(p, o))
    return false;
  const kernels::SmallKernel<T>& kernel = kernels::small_kernels_for(ctx.target()).of<T>();
  return p.k_total <= kernel.lanes && run_heads(p, o, kernel);
}

template bool run_small_call<float>(const Context&, const Problem&, const AttentionOutputs&);
template bool run_small_call<double>(const Context&, const Problem&, const AttentionOutputs&);

}  // namespace headlight
