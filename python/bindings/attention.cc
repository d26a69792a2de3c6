// attention(), its gradients, weights and merge. Called with positional arguments only by python/headlight/ops.py, with the
// interpreter's fastest protocol: for a tiny call, passing arguments takes longer than computing.
#include "headlight/attention.h"

#include <algorithm>

#include "bindings/options.h"
#include "core/concat.h"
#include "headlight/reference.h"

namespace headlight::python {
namespace {

using Arguments = PyObject* const*;
using Result = ArrayMaker::Result;

constexpr DType accumulated(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// q, k, v as rank 4, and how many axes were missing.
struct Inputs {
  Inputs(Arguments arguments, bool with_v = true)
      : q(arguments[0], "q"), k(arguments[1], "k"), q4(q.widened("q")), k4(k.widened("k")) {
    drop = kMaxRank - q.view.rank();
    same_rank(k, "k");
    if (!with_v) return;
    v = ArrayArg(arguments[2], "v");
    same_rank(v, "v");
    v4 = v.widened("v");
  }
  void same_rank(const ArrayArg& other, const char* name) const {
    if (other.view.rank() != q.view.rank())
      throw Error(ErrorKind::input, "python.rank",
                  concat(name, " is ", other.view.shape().text(), " but q is ", q.view.shape().text(),
                         "; need as many axes in both"));
  }
  [[nodiscard]] Shape rows() const { return {q4.dim(0), q4.dim(1), q4.dim(2)}; }
  [[nodiscard]] Shape rows_by(Index last) const { return {q4.dim(0), q4.dim(1), q4.dim(2), last}; }

  ArrayArg q, k, v;
  ConstTensorView q4, k4, v4;
  int drop = 0;
};

// lse as [batch, head, query], of an output that may lack leading axes.
ConstTensorView rows_view(const ArrayArg& rows, const ConstTensorView& of, const char* name) {
  if (rows.view.rank() != of.rank() - 1)
    throw Error(ErrorKind::input, "python.rank",
                concat(name, " is ", rows.view.shape().text(), " beside ", of.shape().text(),
                       "; need the same axes without the last one"));
  Shape shape{1, 1, 1}, strides{0, 0, 0};
  for (int axis = 0; axis < rows.view.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(3 - rows.view.rank() + axis);
    shape.dims[at] = rows.view.dim(axis);
    strides.dims[at] = rows.view.stride(axis);
  }
  return {rows.view.data(), rows.view.dtype(), shape, strides};
}

// [batch, head, query, key] of the weights: packed sequences have their own batch and lengths.
Shape weights_shape(const Inputs& in, const AttentionOptions& o) {
  if (o.q_starts.empty() || o.k_starts.empty()) return in.rows_by(in.k4.dim(2));
  const auto longest = [](std::span<const Index> starts) {
    Index most = 0;
    for (std::size_t i = 1; i < starts.size(); ++i) most = std::max(most, starts[i] - starts[i - 1]);
    return most;
  };
  return {static_cast<Index>(o.q_starts.size()) - 1, in.q4.dim(1), longest(o.q_starts), longest(o.k_starts)};
}

// attention(q, k, v, options…, return_lse, return_entropy, return_weights, topk, threads, reference) -> out, or a tuple
// with every field and None for those that were not requested.
Object attention_call(Arguments arguments) {
  const Inputs in(arguments);
  const OptionArgs args(arguments + 3, in.q4.dtype(), in.q4.dim(1));
  Arguments more = arguments + 3 + kOptions;
  const bool want_lse = to_switch(more[0], "return_lse"), want_entropy = to_switch(more[1], "return_entropy"),
             want_weights = to_switch(more[2], "return_weights");
  const Index topk = to_index(more[3], "topk");
  const bool by_reference = more[5] == Py_True;
  Context& ctx = context_for(more[4]);

  const ArrayMaker maker(in.q);
  const DType type = in.q4.dtype(), statistic = accumulated(type);
  Result out = maker.make(in.rows_by(in.v4.dim(3)), type, in.drop), lse, entropy, weights, index, weight;
  if (want_lse) lse = maker.make(in.rows(), statistic, in.drop);
  if (want_entropy) entropy = maker.make(in.rows(), statistic, in.drop);
  if (want_weights) {
    const Shape shape = weights_shape(in, args.options);
    weights = maker.make(shape, statistic, shape[0] == 1 ? in.drop : 0);
  }
  if (topk != 0) {
    if (topk < 0 || topk > 32)
      throw Error(ErrorKind::usage, "attention.topk", concat("topk is ", topk, "; need 0 to 32"));
    index = maker.make(in.rows_by(topk), DType::i64, in.drop);
    weight = maker.make(in.rows_by(topk), statistic, in.drop);
  }
  const AttentionOutputs outputs{.out = out.view(),
                                 .lse = lse.view(),
                                 .entropy = entropy.view(),
                                 .weights = weights.view(),
                                 .topk_index = index.view(),
                                 .topk_weight = weight.view()};
  {
    const ReleaseLock free;
    if (by_reference) reference::attention(in.q4, in.k4, in.v4, args.options, outputs);
    else attention_forward(ctx, in.q4, in.k4, in.v4, args.options, outputs);
  }
  if (!want_lse && !want_entropy && !want_weights && topk == 0) return out.take();
  return tuple_of(out.take(), lse.take(), entropy.take(), weights.take(), index.take(), weight.take());
}

// attention_backward(q, k, v, options…, out, lse, dout, return_dbias, return_dsinks, threads, reference) ->
// (dq, dk, dv, dbias or None, dsinks or None)
Object backward_call(Arguments arguments) {
  const Inputs in(arguments);
  const OptionArgs args(arguments + 3, in.q4.dtype(), in.q4.dim(1));
  Arguments more = arguments + 3 + kOptions;
  const ArrayArg out(more[0], "out"), lse(more[1], "lse"), dout(more[2], "dout");
  in.same_rank(out, "out");
  in.same_rank(dout, "dout");
  const ConstTensorView out4 = out.widened("out"), dout4 = dout.widened("dout"),
                        lse3 = rows_view(lse, in.q.view, "lse");
  const bool want_dbias = to_switch(more[3], "return_dbias"),
             want_dsinks = to_switch(more[4], "return_dsinks");
  const bool by_reference = more[6] == Py_True;
  Context& ctx = context_for(more[5]);

  const ArrayMaker maker(in.q);
  const DType type = in.q4.dtype(), statistic = accumulated(type);
  Result dq = maker.make(in.q4.shape(), type, in.drop), dk = maker.make(in.k4.shape(), type, in.drop),
         dv = maker.make(in.v4.shape(), type, in.drop), dbias, dsinks;
  if (want_dbias) {
    if (args.options.bias.empty())
      throw Error(ErrorKind::usage, "attention.dbias", "return_dbias is set without a bias; need bias=ARRAY");
    dbias = maker.make(args.options.bias.shape(), statistic);
  }
  if (want_dsinks) dsinks = maker.make({in.q4.dim(1)}, statistic);
  const AttentionSaved saved{in.q4, in.k4, in.v4, out4, lse3};
  const AttentionGrads grads{dq.view(), dk.view(), dv.view(), dbias.view(), dsinks.view()};
  {
    const ReleaseLock free;
    if (by_reference) reference::attention_backward(saved, dout4, args.options, grads);
    else attention_backward(ctx, saved, dout4, args.options, grads);
  }
  return tuple_of(dq.take(), dk.take(), dv.take(), dbias.take(), dsinks.take());
}

// attention_weights(q, k, lse, options…, batch, head, queries, keys, threads) -> [queries, keys]
Object weights_call(Arguments arguments) {
  const Inputs in(arguments, false);
  const ArrayArg lse(arguments[2], "lse");
  const OptionArgs args(arguments + 3, in.q4.dtype(), in.q4.dim(1));
  Arguments more = arguments + 3 + kOptions;
  const ConstTensorView lse3 = rows_view(lse, in.q.view, "lse");
  const Shape all = weights_shape(in, args.options);
  const auto [q_begin, q_end] = to_range(more[2], all[2], "queries");
  const auto [k_begin, k_end] = to_range(more[3], all[3], "keys");
  const WeightSlice slice{.batch = to_index(more[0], "batch"),
                          .head = to_index(more[1], "head"),
                          .queries = {q_begin, q_end},
                          .keys = {k_begin, k_end}};
  Context& ctx = context_for(more[4]);
  const ArrayMaker maker(in.q);
  Result weights = maker.make({slice.queries.size(), slice.keys.size()}, accumulated(in.q4.dtype()));
  {
    const ReleaseLock free;
    attention_weights(ctx, in.q4, in.k4, lse3, args.options, slice, weights.view());
  }
  return weights.take();
}

// merge(out, lse, other_out, other_lse, threads) -> (out, lse), new ones
Object merge_call(Arguments arguments) {
  const ArrayArg out(arguments[0], "out"), lse(arguments[1], "lse"), other_out(arguments[2], "other_out"),
      other_lse(arguments[3], "other_lse");
  const ConstTensorView out4 = out.widened("out"), lse3 = rows_view(lse, out.view, "lse"),
                        other_out4 = other_out.widened("other_out"),
                        other_lse3 = rows_view(other_lse, other_out.view, "other_lse");
  Context& ctx = context_for(arguments[4]);
  const ArrayMaker maker(out);
  const int drop = kMaxRank - out.view.rank();
  Result sum = maker.make(out4.shape(), out4.dtype(), drop),
         sum_lse = maker.make(lse3.shape(), lse3.dtype(), drop);
  copy_into(out4, sum.view());
  copy_into(lse3, sum_lse.view());
  {
    const ReleaseLock free;
    merge(ctx, sum.view(), sum_lse.view(), other_out4, other_lse3);
  }
  return tuple_of(sum.take(), sum_lse.take());
}

template <Object (*call)(Arguments), Py_ssize_t count>
PyObject* guarded(PyObject*, PyObject* const* arguments, Py_ssize_t given) {
  if (given != count) {
    PyErr_Format(PyExc_TypeError, "%zd arguments are needed, %zd are given", count, given);
    return nullptr;
  }
  try {
    return call(arguments).release();
  } catch (...) {
    raise_current();
    return nullptr;
  }
}

template <auto function>
PyCFunction as_method() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"attention", as_method<&guarded<attention_call, 3 + kOptions + 6>>(), METH_FASTCALL, nullptr},
    {"attention_backward", as_method<&guarded<backward_call, 3 + kOptions + 7>>(), METH_FASTCALL, nullptr},
    {"attention_weights", as_method<&guarded<weights_call, 3 + kOptions + 5>>(), METH_FASTCALL, nullptr},
    {"merge", as_method<&guarded<merge_call, 5>>(), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void define_attention(const Module& module) {
  if (PyModule_AddFunctions(module.ptr(), methods) < 0) throw PythonError();
}

}  // namespace headlight::python
