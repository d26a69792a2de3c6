// Checks the inputs and outputs of attention_backward: shapes, dtypes, strides, overlap.
#include "attention/output_checker.h"

namespace headlight {
namespace {

HEADLIGHT_COLD void refuse_without(Argument at, const char* option) {
  refuse(ErrorKind::input, "attention.grads",
         concat(at.who, ": ", at.name, " is given but options.", option, " is not; leave ", at.name,
                " empty or give the ", option, " of the forward call"));
}

Wanted like(const ConstTensorView& view, DType dtype) {
  Wanted wanted{dtype, view.rank(), {0, 0, 0, 0}};
  for (int axis = 0; axis < view.rank(); ++axis) wanted.size[axis] = view.dim(axis);
  return wanted;
}

void check_read(Argument at, const ConstTensorView& view, const Wanted& wanted, const char* code) {
  if (!wanted.fits(view)) refuse_result(at, code, view, wanted);
  static_cast<void>(checked_bytes(at, view));
  check_last_stride(at, view);
}

}  // namespace

void check_backward(const char* who, const Problem& p, const AttentionSaved& saved,
                    const ConstTensorView& dout, const AttentionGrads& grads) {
  if (p.v.empty())
    refuse(ErrorKind::input, "attention.rank",
           concat(who, ": v is empty; need rank 4: [batch, head, token, dim]"));
  const Wanted result{p.dtype, 4, {p.q.dim(0), p.q_heads, p.q_total, p.value_dim}};
  check_read({who, "out"}, saved.out, result, "attention.out");
  check_lse(who, p, saved.lse);
  check_read({who, "dout"}, dout, result, "attention.dout");

  const ReadBack inputs[] = {{"out", &saved.out}, {"lse", &saved.lse}, {"dout", &dout}};
  OutputChecker checker(who, p, inputs);
  const auto gradient = [&](const char* name, const TensorView& view, const ConstTensorView& of,
                            DType dtype) {
    if (view.empty()) return;
    checker.write(name, view, like(of, dtype), "attention.grads");
    check_last_stride({who, name}, view);
  };
  const AttentionOptions& o = *p.options;
  const DType summed = accumulation_dtype(p.dtype);
  if (!grads.dbias.empty() && o.bias.empty()) refuse_without({who, "dbias"}, "bias");
  if (!grads.dsinks.empty() && o.sinks.empty()) refuse_without({who, "dsinks"}, "sinks");
  gradient("dq", grads.dq, p.q, p.dtype);
  gradient("dk", grads.dk, p.k, p.dtype);
  gradient("dv", grads.dv, p.v, p.dtype);
  gradient("dbias", grads.dbias, o.bias, summed);
  gradient("dsinks", grads.dsinks, o.sinks, summed);
}

}  // namespace headlight
