#include "bindings/options.h"

#include <algorithm>

#include "core/concat.h"
#include "headlight/positions.h"

namespace headlight::python {
namespace {

// A number of keys (the query's own is one of them, later ones are not seen), or a pair (earlier, later) of which None
// is without bound.
void read_window(Handle value, Visibility& visible) {
  if (PyTuple_Check(value.ptr()) || PyList_Check(value.ptr())) {
    if (PySequence_Size(value.ptr()) != 2)
      throw Error(ErrorKind::usage, "attention.window",
                  concat("window is ", repr_of(value), "; need a number of keys or a pair (earlier, later)"));
    const Object left = Object::taken(PySequence_GetItem(value.ptr(), 0)),
                 right = Object::taken(PySequence_GetItem(value.ptr(), 1));
    if (!left.is_none()) visible.left = to_index(left, "window[0]");
    if (!right.is_none()) visible.right = std::min(visible.right, to_index(right, "window[1]"));
    return;
  }
  const Index keys = to_index(value, "window");
  if (keys < 1)
    throw Error(ErrorKind::usage, "attention.window",
                concat("window is ", keys, "; need 1 or more keys: the query's own is one of them"));
  visible.left = keys - 1;
  if (!visible.prefix) visible.right = 0;
}

Visibility read_visibility(PyObject* const* arguments) {
  const auto given = [&](OptionPlace place) { return arguments[place] != Py_None; };
  Visibility visible;
  // A prefix mask is causal except within the prefix; a right bound would hide the prefix's later keys.
  if (given(kPrefix)) visible.prefix = to_index(arguments[kPrefix], "prefix");
  else if (to_switch(arguments[kCausal], "causal")) visible.right = 0;
  if (given(kWindow)) read_window(arguments[kWindow], visible);
  if (given(kOffset)) visible.offset = to_index(arguments[kOffset], "offset");
  if (given(kChunk)) {
    visible.chunk = to_index(arguments[kChunk], "chunk");
    if (visible.chunk > 0) visible.right = 0;
  }
  return visible;
}

Dropout read_dropout(PyObject* const* arguments) {
  Dropout dropout;
  if (arguments[kDropout] == Py_None) return dropout;
  dropout.rate = to_number(arguments[kDropout], "dropout");
  if (arguments[kSeed] != Py_None)
    dropout.seed = static_cast<std::uint64_t>(to_index(arguments[kSeed], "seed"));
  else if (dropout.rate != 0)
    throw Error(
        ErrorKind::usage, "attention.seed",
        "dropout is given without a seed; need seed=N, with which the backward pass drops the same weights");
  return dropout;
}

}  // namespace

OptionArgs::OptionArgs(PyObject* const* arguments, DType dtype, Index heads) {
  const auto given = [&](OptionPlace place) { return arguments[place] != Py_None; };
  options.visible = read_visibility(arguments);
  if (given(kScale)) options.scale = to_number(arguments[kScale], "scale");
  if (given(kSoftcap)) options.softcap = to_number(arguments[kSoftcap], "softcap");
  if (given(kMask)) {
    mask_ = ArrayArg(arguments[kMask], "mask");
    options.mask = mask_.view;
  }
  if (given(kBias)) {
    bias = ArrayArg(arguments[kBias], "bias");
    options.bias = bias.view;
  }
  const DType exact = dtype == DType::f64 ? DType::f64 : DType::f32;
  if (arguments[kAlibi] == Py_True) {
    slopes_ = nn::alibi_slopes(heads, exact);
    options.alibi_slopes = slopes_;
  } else if (given(kAlibi) && arguments[kAlibi] != Py_False) {
    alibi_ = numbers_arg(arguments[kAlibi], "alibi", exact);
    options.alibi_slopes = alibi_.view;
  }
  if (given(kSinks)) {
    sinks_ = numbers_arg(arguments[kSinks], "sinks", exact);
    options.sinks = sinks_.view;
  }
  options.q_lengths = q_lengths_ = to_indices(arguments[kQLengths], "q_lengths");
  options.k_lengths = k_lengths_ = to_indices(arguments[kKLengths], "k_lengths");
  options.q_starts = q_starts_ = to_indices(arguments[kQStarts], "q_starts");
  options.k_starts = k_starts_ = to_indices(arguments[kKStarts], "k_starts");
  options.dropout = read_dropout(arguments);
}

}  // namespace headlight::python
