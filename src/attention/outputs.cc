// Checks of outputs and of saved tensors: shapes, dtypes, strides, overlap.
#include "attention/output_checker.h"

namespace headlight {

void refuse_result(Argument at, const char* code, const ConstTensorView& view, const Wanted& wanted) {
  refuse(ErrorKind::input, code,
         concat(at.who, ": ", at.name, " is ", view.empty() ? std::string("not given") : described(view),
                "; need ", name_of(wanted.dtype), " ", wanted.shape().text()));
}

void refuse_self(Argument at, const ConstTensorView& view) {
  refuse(ErrorKind::input, "attention.overlap",
         concat(at.who, ": ", at.name, " ", view.shape().text(),
                " has strides that map two elements to one address; need one address per element"));
}

void refuse_shared(Argument at, const char* other) {
  refuse(ErrorKind::input, "attention.overlap",
         concat(at.who, ": ", at.name, " overlaps ", other, "; outputs must not share memory"));
}

namespace {

HEADLIGHT_COLD void refuse_not_here(Argument at) {
  refuse(ErrorKind::input, "attention.output",
         concat(at.who, ": ", at.name, " cannot be written by a call without v; leave it empty"));
}

HEADLIGHT_COLD void refuse_top(const char* who, Index index_k, Index weight_k) {
  refuse(ErrorKind::input, "attention.topk",
         index_k == weight_k
             ? concat(who, ": topk_index asks for the ", index_k, " top keys; need a last axis of 1 to 32")
             : concat(who, ": topk_index has ", index_k, " places but topk_weight has ", weight_k,
                      "; need the same"));
}

void check_top(const char* who, const Problem& p, const AttentionOutputs& o, OutputChecker& checker) {
  const ConstTensorView& any = o.topk_index.empty() ? o.topk_weight : o.topk_index;
  const Index k = any.rank() == 4 ? any.dim(3) : 0;
  if (!o.topk_index.empty() && !o.topk_weight.empty() && o.topk_weight.rank() == 4 &&
      o.topk_weight.dim(3) != k) {
    refuse_top(who, k, o.topk_weight.dim(3));
  }
  if (any.rank() == 4 && (k < 1 || k > kMostTop)) refuse_top(who, k, k);
  Wanted wanted{DType::i64, 4, {p.batch, p.q_heads, p.q_total, std::max<Index>(k, 1)}};
  if (!o.topk_index.empty()) checker.write("topk_index", o.topk_index, wanted, "attention.topk");
  wanted.dtype = accumulation_dtype(p.dtype);
  if (!o.topk_weight.empty()) checker.write("topk_weight", o.topk_weight, wanted, "attention.topk");
}

}  // namespace

void check_values(const char* who, const Problem& p) {
  if (p.value_dim == 0) refuse_not_here({who, "out"});
}

void check_outputs(const char* who, const Problem& p, const AttentionOutputs& o) {
  const DType statistic = accumulation_dtype(p.dtype);
  const Wanted per_row{statistic, 3, {p.batch, p.q_heads, p.q_total, 0}};
  OutputChecker checker(who, p);
  if (p.value_dim == 0) {
    if (!o.out.empty()) refuse_not_here({who, "out"});
  } else {
    checker.write("out", o.out, {p.dtype, 4, {p.batch, p.q_heads, p.q_total, p.value_dim}},
                  "attention.output");
    check_last_stride({who, "out"}, o.out);
  }
  const auto row_statistic = [&](const char* name, const TensorView& view) {
    if (!view.empty()) checker.write(name, view, per_row, "attention.output");
  };
  row_statistic("lse", o.lse);
  row_statistic("max", o.max);
  row_statistic("entropy", o.entropy);
  row_statistic("sink_weight", o.sink_weight);
  if (!o.weights.empty()) {
    checker.write("weights", o.weights, {statistic, 4, {p.sequences, p.q_heads, p.q_longest, p.k_longest}},
                  "attention.output");
    check_last_stride({who, "weights"}, o.weights);
  }
  if (!o.topk_index.empty() || !o.topk_weight.empty()) check_top(who, p, o, checker);
  if (!o.received.empty()) {
    checker.write("received", o.received, {statistic, 3, {p.batch, p.q_heads, p.k_total, 0}},
                  "attention.output");
  }
}

void check_lse(const char* who, const Problem& p, ConstTensorView lse) {
  const Wanted wanted{accumulation_dtype(p.dtype), 3, {p.batch, p.q_heads, p.q_total, 0}};
  if (!wanted.fits(lse)) refuse_result({who, "lse"}, "attention.lse", lse, wanted);
  static_cast<void>(checked_bytes({who, "lse"}, lse));
}

namespace {

HEADLIGHT_COLD void refuse_slice(const char* who, const char* name, const std::string& found, Index limit) {
  refuse(ErrorKind::usage, "attention.slice",
         concat(who, ": slice.", name, " is ", found, "; need to stay within 0 … ", limit));
}

void check_range(const char* who, const char* name, Range range, Index limit) {
  if (range.begin < 0 || range.end < range.begin || range.end > limit) {
    refuse_slice(who, name, concat("[", range.begin, ", ", range.end, ")"), limit);
  }
}

}  // namespace

void check_slice(const char* who, const Problem& p, const WeightSlice& slice) {
  if (slice.batch < 0 || slice.batch >= p.sequences)
    refuse_slice(who, "batch", concat(slice.batch), p.sequences - 1);
  if (slice.head < 0 || slice.head >= p.q_heads) refuse_slice(who, "head", concat(slice.head), p.q_heads - 1);
  const Sequence s = p.sequence(slice.batch);
  check_range(who, "queries", slice.queries, s.q_rows);
  check_range(who, "keys", slice.keys, s.k_rows);
}

void check_matrix(const char* who, const Problem& p, ConstTensorView lse, const char* name, TensorView matrix,
                  Index rows, Index columns) {
  const auto axis = [&](int a, Index wanted) {
    return wanted >= 0 || matrix.rank() != 2 ? wanted : matrix.dim(a);
  };
  const ReadBack lse_input[] = {{"lse", &lse}};
  OutputChecker checker(who, p, lse_input);
  checker.write(name, matrix, {accumulation_dtype(p.dtype), 2, {axis(0, rows), axis(1, columns), 0, 0}},
                "attention.output");
  check_last_stride({who, name}, matrix);
}

}  // namespace headlight
