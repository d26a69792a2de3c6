#include "attention/problem.h"

#include <cmath>

#include "attention/cache_store.h"
#include "attention/view_checks.h"
#include "core/concat.h"
#include "core/float_mode.h"

namespace headlight {
namespace {

HEADLIGHT_COLD void refuse_rank(Argument at, const ConstTensorView& view) {
  const std::string found =
      view.empty() ? "is empty" : concat("has rank ", view.rank(), " (", view.shape().text(), ")");
  refuse(ErrorKind::input, "attention.rank",
         concat(at.who, ": ", at.name, " ", found, "; need rank 4: [batch, head, token, dim]"));
}

HEADLIGHT_COLD void refuse_dtype(Argument at, DType found, DType q) {
  if (!is_float(q)) {
    refuse(ErrorKind::input, "attention.dtype",
           concat(at.who, ": q is ", name_of(q), "; need f32, f64, f16 or bf16"));
  }
  refuse(ErrorKind::input, "attention.dtype",
         concat(at.who, ": ", at.name, " is ", name_of(found), " but q is ", name_of(q),
                "; need q, k and v alike (convert ", at.name, " to ", name_of(q), ")"));
}

HEADLIGHT_COLD void refuse_heads(const char* who, Index q, Index k) {
  const std::string hint = q > 0 ? concat(" (legal Hkv: ", divisors(q), ")") : std::string();
  refuse(ErrorKind::input, "attention.heads",
         concat(who, ": k has ", k, " heads but q has ", q, "; need Hq % Hkv == 0", hint));
}

HEADLIGHT_COLD void refuse_pair(Argument at, const char* code, const char* what, Index found,
                                const char* other, Index expected) {
  refuse(ErrorKind::input, code,
         concat(at.who, ": ", at.name, " has ", what, " ", found, " but ", other, " has ", expected,
                "; need the same (", what, " ", expected, ")"));
}

HEADLIGHT_COLD void refuse_dim(Argument at, const ConstTensorView& view) {
  refuse(ErrorKind::input, "attention.dim",
         concat(at.who, ": ", at.name, " is ", view.shape().text(),
                " with dim 0; need a last axis of 1 or more"));
}

HEADLIGHT_COLD void refuse_number(const char* who, const char* code, const char* name, double found,
                                  const char* need) {
  refuse(ErrorKind::usage, code, concat(who, ": ", name, " is ", found, "; need ", need));
}

HEADLIGHT_COLD void refuse_count(const char* who, const char* name, Index found, const char* need) {
  refuse(ErrorKind::usage, "attention.window", concat(who, ": ", name, " is ", found, "; need ", need));
}

// is_float() without the call.
constexpr bool computes(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

[[gnu::always_inline]] inline ByteSpan check_tensor(Argument at, const ConstTensorView& view, DType dtype) {
  if (view.rank() != 4) refuse_rank(at, view);
  if (view.dtype() != dtype || !computes(dtype)) refuse_dtype(at, view.dtype(), dtype);
  const ByteSpan bytes = checked_bytes(at, view);
  if (view.dim(3) == 0) refuse_dim(at, view);
  check_last_stride(at, view);
  return bytes;
}

// The span around both; one without bytes adds nothing.
ByteSpan around(const ByteSpan& a, const ByteSpan& b) {
  if (b.begin == b.end) return a;
  if (a.begin == a.end) return b;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// Query heads per key/value head. The common case of one needs no division, which would be noticeable in a tiny call.
Index head_group(Index q_heads, Index kv_heads) {
  if (q_heads == kv_heads) return 1;
  return kv_heads > 0 ? q_heads / kv_heads : 0;
}

// Checks q against the sizes of the keys; q.rank() is known to be 4.
void check_query(const char* who, const ConstTensorView& q, const CallShape& keys) {
  const Argument at_k{who, "k"};
  if (keys.batch != q.dim(0)) refuse_pair(at_k, "attention.batch", "batch", keys.batch, "q", q.dim(0));
  if (head_group(q.dim(1), keys.kv_heads) * keys.kv_heads != q.dim(1))
    refuse_heads(who, q.dim(1), keys.kv_heads);
  if (keys.dim != q.dim(3)) refuse_pair(at_k, "attention.dim", "dim", keys.dim, "q", q.dim(3));
}

CallShape shape_of(const ConstTensorView& q, const ConstTensorView& k, const ConstTensorView& v) {
  return {q.dim(0), q.dim(1), k.dim(1), q.dim(2), k.dim(2), k.dim(3), v.empty() ? 0 : v.dim(3), q.dtype()};
}

ByteSpan check_shapes(const char* who, const ConstTensorView& q, const ConstTensorView& k,
                      const ConstTensorView& v) {
  const Argument at_k{who, "k"}, at_v{who, "v"};
  ByteSpan bytes = check_tensor({who, "q"}, q, q.dtype());
  bytes = around(bytes, check_tensor(at_k, k, q.dtype()));
  CallShape keys;
  keys.batch = k.dim(0), keys.kv_heads = k.dim(1), keys.dim = k.dim(3);
  check_query(who, q, keys);
  if (v.empty()) return bytes;
  bytes = around(bytes, check_tensor(at_v, v, q.dtype()));
  if (v.dim(0) != q.dim(0)) refuse_pair(at_v, "attention.batch", "batch", v.dim(0), "q", q.dim(0));
  if (v.dim(1) != k.dim(1)) refuse_pair(at_v, "attention.heads", "heads", v.dim(1), "k", k.dim(1));
  if (v.dim(2) != k.dim(2)) refuse_pair(at_v, "attention.dim", "tokens", v.dim(2), "k", k.dim(2));
  return bytes;
}

void check_numbers(const char* who, const AttentionOptions& o) {
  if (o.scale && !std::isfinite(*o.scale)) {
    refuse_number(who, "attention.scale", "scale", *o.scale,
                  "a finite number (leave it out for 1/sqrt(dim))");
  }
  if (!(o.softcap >= 0) || std::isinf(o.softcap)) {
    refuse_number(who, "attention.softcap", "softcap", o.softcap, "a finite cap above 0, or 0 for none");
  }
  if (!(o.dropout.rate >= 0 && o.dropout.rate < 1)) {
    refuse_number(who, "attention.dropout", "dropout.rate", o.dropout.rate,
                  "0 or more and less than 1 (0 drops nothing)");
  }
  const Visibility& visible = o.visible;
  constexpr const char* kCount = "a count of 0 or more (leave it out for unbounded)";
  if (visible.left < 0 || visible.left > Visibility::kUnbounded) {
    refuse_count(who, "visible.left", visible.left, kCount);
  }
  if (visible.right < 0 || visible.right > Visibility::kUnbounded) {
    refuse_count(who, "visible.right", visible.right, kCount);
  }
  if (visible.chunk < 0 || visible.chunk > Visibility::kUnbounded) {
    refuse_count(who, "visible.chunk", visible.chunk, "a count of 0 or more (0 is no chunks)");
  }
  if (visible.prefix && *visible.prefix < 0) {
    refuse_count(who, "visible.prefix", *visible.prefix, "a count of 0 or more (0 is plain causal)");
  }
  constexpr Index kFarthest = Index{1} << 60;
  if (visible.offset && (*visible.offset > kFarthest || *visible.offset < -kFarthest)) {
    refuse_count(who, "visible.offset", *visible.offset, "a position between -2^60 and 2^60");
  }
}

HEADLIGHT_COLD void refuse_per_head(Argument at, const char* code, const ConstTensorView& view, Index heads) {
  refuse(ErrorKind::input, code,
         concat(at.who, ": ", at.name, " is ", described(view), "; need f32 or f64 [", heads,
                "], one per query head"));
}

void check_per_head(Argument at, const char* code, const ConstTensorView& view, Index heads) {
  if (view.empty()) return;
  if (view.rank() != 1 || view.dim(0) != heads ||
      (view.dtype() != DType::f32 && view.dtype() != DType::f64)) {
    refuse_per_head(at, code, view, heads);
  }
  static_cast<void>(checked_bytes(at, view));
}

HEADLIGHT_COLD void refuse_broadcast(Argument at, const char* code, const ConstTensorView& view,
                                     const Shape& whole, const char* dtypes) {
  refuse(ErrorKind::input, code,
         concat(at.who, ": ", at.name, " is ", described(view), "; need ", dtypes, " that broadcasts to ",
                whole.text(), " (each axis 1 or that size, missing leading axes are 1)"));
}

// The view broadcast to four axes by NumPy's rule: stride 0 along every repeated axis.
Broadcast broadcast(Argument at, const char* code, const ConstTensorView& view, const Problem& p,
                    bool is_mask) {
  const Shape whole{p.sequences, p.q_heads, p.q_longest, p.k_longest};
  const char* dtypes = is_mask ? "bool" : "a float dtype";
  if (is_mask ? view.dtype() != DType::boolean : !is_float(view.dtype())) {
    refuse_broadcast(at, code, view, whole, dtypes);
  }
  static_cast<void>(checked_bytes(at, view));
  Broadcast result{view.data(), view.dtype(), {0, 0, 0, 0}};
  for (int axis = 0; axis < view.rank(); ++axis) {
    const int target = kMaxRank - view.rank() + axis;
    if (view.dim(axis) == 1) continue;
    if (view.dim(axis) != whole[target]) refuse_broadcast(at, code, view, whole, dtypes);
    result.stride[target] = view.stride(axis);
  }
  return result;
}

HEADLIGHT_COLD void refuse_starts(const char* who, const char* name, const std::string& found,
                                  const char* need) {
  refuse(ErrorKind::input, "attention.starts", concat(who, ": ", name, " ", found, "; need ", need));
}

// Returns the longest stretch.
Index check_starts(const char* who, const char* name, std::span<const Index> starts, Index total) {
  if (starts.front() != 0)
    refuse_starts(who, name, concat("begins with ", starts.front()), "a first start of 0");
  Index longest = 0;
  for (std::size_t s = 1; s < starts.size(); ++s) {
    if (starts[s] < starts[s - 1]) {
      refuse_starts(who, name, concat("falls from ", starts[s - 1], " to ", starts[s], " at entry ", s),
                    "starts that never fall");
    }
    longest = std::max(longest, starts[s] - starts[s - 1]);
  }
  if (starts.back() != total) {
    refuse_starts(who, name, concat("ends with ", starts.back(), " but axis 2 has ", total, " tokens"),
                  "the number of tokens as the last entry");
  }
  return longest;
}

void check_packed(const char* who, Problem& p) {
  const AttentionOptions& o = *p.options;
  if (o.q_starts.empty() || o.k_starts.empty()) {
    refuse_starts(who, o.q_starts.empty() ? "q_starts" : "k_starts", "is missing",
                  "both q_starts and k_starts, or neither");
  }
  if (o.q_starts.size() != o.k_starts.size()) {
    refuse_starts(who, "k_starts",
                  concat("has ", o.k_starts.size(), " entries but q_starts has ", o.q_starts.size()),
                  "one entry per sequence and one more, in both");
  }
  if (!o.q_lengths.empty() || !o.k_lengths.empty()) {
    refuse_starts(who, "q_starts", "is given together with lengths", "starts or lengths, not both");
  }
  if (p.q.dim(0) != 1) {
    refuse_starts(who, "q_starts", concat("is given with batch ", p.q.dim(0)),
                  "batch 1 when sequences are packed");
  }
  p.packed = true;
  p.sequences = static_cast<Index>(o.q_starts.size()) - 1;
  p.q_longest = check_starts(who, "q_starts", o.q_starts, p.q_total);
  p.k_longest = check_starts(who, "k_starts", o.k_starts, p.k_total);
}

HEADLIGHT_COLD void refuse_lengths(Argument at, const std::string& found, const std::string& need) {
  refuse(ErrorKind::input, "attention.lengths", concat(at.who, ": ", at.name, found, "; need ", need));
}

void check_lengths(Argument at, std::span<const Index> lengths, Index batch, Index rows) {
  if (lengths.empty()) return;
  if (static_cast<Index>(lengths.size()) != batch) {
    refuse_lengths(at, concat(" has ", lengths.size(), " entries but batch is ", batch),
                   "one length per batch item");
  }
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] >= 0 && lengths[b] <= rows) continue;
    refuse_lengths(at, concat("[", b, "] is ", lengths[b]), concat("0 to ", rows, ", the tokens of axis 2"));
  }
}

// Checks the options of a call whose tensors are valid.
void check_options(const char* who, Problem& p) {
  const AttentionOptions& options = *p.options;
  check_numbers(who, options);
  if (!options.q_starts.empty() || !options.k_starts.empty()) check_packed(who, p);
  check_lengths({who, "q_lengths"}, options.q_lengths, p.batch, p.q_total);
  check_lengths({who, "k_lengths"}, options.k_lengths, p.batch, p.k_total);
  check_per_head({who, "alibi_slopes"}, "attention.alibi", options.alibi_slopes, p.q_heads);
  check_per_head({who, "sinks"}, "attention.sinks", options.sinks, p.q_heads);
  if (!options.mask.empty()) p.mask = broadcast({who, "mask"}, "attention.mask", options.mask, p, true);
  const Dropout& dropout = options.dropout;
  if (dropout.rate > 0) p.dropout = DropoutKey::of(dropout.rate, dropout.seed, dropout.layer);
  if (!options.bias.empty()) p.bias = broadcast({who, "bias"}, "attention.bias", options.bias, p, false);
}

}  // namespace

Problem check_call(const char* who, const ConstTensorView& q, const ConstTensorView& k,
                   const ConstTensorView& v, const AttentionOptions& options) {
  const DefaultFloatMode float_mode;  // 1/sqrt(dim) is part of a result's bits
  const ByteSpan inputs = check_shapes(who, q, k, v);
  Problem p(shape_of(q, k, v), q, k, v, options);
  p.inputs = inputs;
  check_options(who, p);
  return p;
}

Problem check_cached_call(const char* who, const ConstTensorView& q, const CacheStore& cache,
                          const AttentionOptions& options) {
  const DefaultFloatMode float_mode;
  const ByteSpan inputs = check_tensor({who, "q"}, q, q.dtype());
  CallShape shape = cache.shape();
  check_query(who, q, shape);
  shape.q_heads = q.dim(1), shape.q_total = q.dim(2), shape.dtype = q.dtype();
  Problem p(shape, q, {}, {}, options);
  p.inputs = inputs;
  p.cache = &cache;
  check_options(who, p);
  return p;
}

Problem::Problem(const CallShape& shape, const ConstTensorView& q_, const ConstTensorView& k_,
                 const ConstTensorView& v_, const AttentionOptions& o)
    : CallShape(shape),
      sequences(shape.batch),
      group(head_group(shape.q_heads, shape.kv_heads)),
      q_longest(shape.q_total),
      k_longest(shape.k_total),
      scale(o.scale ? *o.scale : 1 / std::sqrt(static_cast<double>(shape.dim))),
      q(q_),
      k(k_),
      v(v_),
      options(&o) {}

Sequence Problem::sequence(Index s) const {
  Sequence result;
  result.item = s;
  const auto at = static_cast<std::size_t>(s);
  if (packed) {
    result.q_start = options->q_starts[at];
    result.k_start = options->k_starts[at];
    result.q_rows = result.q_len = options->q_starts[at + 1] - result.q_start;
    result.k_rows = result.k_len = options->k_starts[at + 1] - result.k_start;
  } else {
    result.batch = s;
    result.q_rows = q_total;
    result.k_rows = k_total;
    result.q_len = options->q_lengths.empty() ? q_total : options->q_lengths[at];
    result.k_len = options->k_lengths.empty() ? k_total : options->k_lengths[at];
  }
  result.offset = options->visible.offset.value_or(result.k_len - result.q_len);
  return result;
}

}  // namespace headlight
