// The options of an attention call, in the order in which python/headlight/_options.py passes them.
#pragma once

#include <vector>

#include "bindings/arrays.h"
#include "headlight/attention.h"

namespace headlight::python {

enum OptionPlace {
  kCausal,
  kWindow,
  kPrefix,
  kOffset,
  kChunk,
  kScale,
  kMask,
  kBias,
  kAlibi,
  kSoftcap,
  kSinks,
  kQLengths,
  kKLengths,
  kQStarts,
  kKStarts,
  kDropout,
  kSeed,
  kOptions,  // how many there are
};

// Owns what the options point to.
class OptionArgs {
 public:
  // `dtype` and `heads` are those of q: lists of numbers become arrays that suit them.
  OptionArgs(PyObject* const* arguments, DType dtype, Index heads);
  OptionArgs(const OptionArgs&) = delete;
  OptionArgs& operator=(const OptionArgs&) = delete;

  AttentionOptions options;
  ArrayArg bias;  // the argument itself: its gradient has the same type

 private:
  ArrayArg mask_, alibi_, sinks_;
  Tensor slopes_;
  std::vector<Index> q_lengths_, k_lengths_, q_starts_, k_starts_;
};

}  // namespace headlight::python
