// A checked call: the starting point of the reference and of the fast drivers. All errors of an attention
// call are in problem.cc, with stable codes.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "headlight/attention.h"
#include "kernels/attention_tile.h"

namespace headlight {

// One sequence of the call: a batch item, or one stretch of a packed batch. Rows beyond q_len up to
// q_rows are padding: they see nothing.
struct Sequence {
  Index batch = 0;                 // index along axis 0 of q, k, v, out, lse (0 when packed)
  Index item = 0;                  // index along axis 0 of mask, bias and weights
  Index q_start = 0, k_start = 0;  // first token along axis 2
  Index q_len = 0, k_len = 0;      // real tokens
  Index q_rows = 0, k_rows = 0;    // tokens including padding
  Index offset = 0;                // position of query 0 among the keys
};

// A mask or bias with its four broadcast strides; no data: none was given.
struct Broadcast {
  const void* data = nullptr;
  DType dtype = DType::f32;
  Index stride[4] = {0, 0, 0, 0};
  [[nodiscard]] double at(Index item, Index h, Index i, Index j) const {
    const Shape strides{stride[0], stride[1], stride[2], stride[3]};
    return ConstTensorView(data, dtype, {item + 1, h + 1, i + 1, j + 1}, strides).at(item, h, i, j);
  }
};

// The bytes from a view's first element to its last: begin == end for a view without elements.
struct ByteSpan {
  std::uintptr_t begin, end;
  [[nodiscard]] bool meets(const ByteSpan& other) const { return begin < other.end && other.begin < end; }
};

// Where row [batch, head, token] of a view begins: in elements, and in memory.
[[nodiscard]] inline Index row_offset(const ConstTensorView& view, Index batch, Index head, Index token) {
  return batch * view.stride(0) + head * view.stride(1) + token * view.stride(2);
}
[[nodiscard]] inline const std::byte* row_at(const ConstTensorView& view, Index batch, Index head,
                                             Index token) {
  return view.as<std::byte>() +
         row_offset(view, batch, head, token) * static_cast<Index>(size_of(view.dtype()));
}
[[nodiscard]] inline std::byte* row_at(const TensorView& view, Index batch, Index head, Index token) {
  return view.as<std::byte>() +
         row_offset(view, batch, head, token) * static_cast<Index>(size_of(view.dtype()));
}

// use.operator()<T>() with the type that a dtype is computed in.
template <class Use>
void compute_in(DType dtype, const Use& use) {
  if (dtype == DType::f64) use.template operator()<double>();
  else use.template operator()<float>();
}

class CacheStore;

// The sizes of a call, for keys in tensors or in a cache.
struct CallShape {
  Index batch = 0, q_heads = 0, kv_heads = 0;
  Index q_total = 0, k_total = 0;  // axis 2 of q and k
  Index dim = 0, value_dim = 0;    // value_dim 0: a call that recomputes from lse, without values
  DType dtype = DType::f32;
};

// The shape, the views and the options of a call.
struct Problem : CallShape {
  Index sequences = 0, group = 0;
  Index q_longest = 0, k_longest = 0;  // axes 2 and 3 of mask, bias and whole weights
  double scale = 1;
  ConstTensorView q, k, v;            // k and v are empty when the keys are in a cache
  const CacheStore* cache = nullptr;  // one item a sequence
  const AttentionOptions* options = nullptr;
  Broadcast mask, bias;
  DropoutKey dropout;        // threshold 0: none
  ByteSpan inputs = {0, 0};  // around all of q, k and v
  bool packed = false;

  // Members are initialised one by one: clearing the whole struct takes a quarter of the time of checking a tiny call.
  Problem(const CallShape& shape, const ConstTensorView& q, const ConstTensorView& k,
          const ConstTensorView& v, const AttentionOptions& options);
  [[nodiscard]] Sequence sequence(Index s) const;
  // Bits of a logit's unit in the kernels.
  [[nodiscard]] double logit_unit() const { return bias.data != nullptr ? kernels::kBiasUnit : 1; }
  // The run of keys that query `row` of the sequence sees; empty for a padding row.
  [[nodiscard]] Range keys_for(const Sequence& s, Index row) const {
    if (row >= s.q_len) return {};
    Visibility visible = options->visible;
    visible.offset = s.offset;
    return visible.keys_for(row, s.q_len, s.k_len);
  }
};

// `who` starts every message: "attention", "attention_weights", … `v` may be empty. Throws Error;
// allocates nothing for a valid call.
[[nodiscard]] Problem check_call(const char* who, const ConstTensorView& q, const ConstTensorView& k,
                                 const ConstTensorView& v, const AttentionOptions& options);
// The same on the keys of a cache; options.k_lengths are its lengths.
[[nodiscard]] Problem check_cached_call(const char* who, const ConstTensorView& q, const CacheStore& cache,
                                        const AttentionOptions& options);
// A call that writes out needs values.
void check_values(const char* who, const Problem& problem);
// Checks shapes, dtypes, strides and overlap of all outputs.
void check_outputs(const char* who, const Problem& problem, const AttentionOutputs& outputs);
// Checks the inputs and outputs of attention_backward; `problem` is the checked call on saved.q, k, v.
void check_backward(const char* who, const Problem& problem, const AttentionSaved& saved,
                    const ConstTensorView& dout, const AttentionGrads& grads);
void check_lse(const char* who, const Problem& problem, ConstTensorView lse);
void check_slice(const char* who, const Problem& problem, const WeightSlice& slice);
// The [rows, columns] picture of a call that recomputes from lse; a negative size means any.
void check_matrix(const char* who, const Problem& problem, ConstTensorView lse, const char* name,
                  TensorView matrix, Index rows, Index columns);

inline constexpr Index kMostTop = 32;  // places of topk_index and topk_weight

}  // namespace headlight
