// Checks of outputs, shared by forward and backward: shapes, dtypes, overlap.
#pragma once

#include <array>
#include <span>

#include "attention/problem.h"
#include "attention/view_checks.h"
#include "core/concat.h"

namespace headlight {

// A dtype and a shape. Not a Shape, because its out-of-line constructor would be noticeable in a tiny call.
struct Wanted {
  DType dtype;
  int rank;
  Index size[kMaxRank];

  [[nodiscard]] bool fits(const ConstTensorView& view) const {
    if (view.dtype() != dtype || view.rank() != rank) return false;
    bool same = true;
    for (int axis = 0; axis < rank; ++axis) same &= view.dim(axis) == size[axis];
    return same;
  }
  [[nodiscard]] Shape shape() const {
    return Shape(std::span<const Index>(size, static_cast<std::size_t>(rank)));
  }
};

HEADLIGHT_COLD void refuse_result(Argument at, const char* code, const ConstTensorView& view,
                                  const Wanted& wanted);
HEADLIGHT_COLD void refuse_self(Argument at, const ConstTensorView& view);
HEADLIGHT_COLD void refuse_shared(Argument at, const char* other);

// A result of an earlier call that this one reads.
struct ReadBack {
  const char* name;
  const ConstTensorView* view;
};

// Checks the outputs of a call: shape, dtype, and no memory shared with inputs or other outputs.
class OutputChecker {
 public:
  // `inputs`: tensors that the call reads in addition to q, k, v and the options.
  OutputChecker(const char* who, const Problem& p, std::span<const ReadBack> inputs = {})
      : who_(who), p_(p), inputs_(inputs) {}

  // Refuses a view that shares an element with itself, with an input or with an earlier output.
  void write(const char* name, const ConstTensorView& view, const Wanted& wanted, const char* code) {
    const Argument at{who_, name};
    if (!wanted.fits(view)) refuse_result(at, code, view, wanted);
    const ByteSpan bytes = checked_bytes(at, view);
    if (bytes.begin == bytes.end) return;
    if (!writes_once(view)) refuse_self(at, view);
    if (bytes.meets(p_.inputs)) {
      check_against(at, view, bytes, "q", p_.q);
      check_against(at, view, bytes, "k", p_.k);
      check_against(at, view, bytes, "v", p_.v);
    }
    const AttentionOptions& o = *p_.options;
    check_against(at, view, bytes, "bias", o.bias);
    check_against(at, view, bytes, "mask", o.mask);
    check_against(at, view, bytes, "sinks", o.sinks);
    check_against(at, view, bytes, "alibi_slopes", o.alibi_slopes);
    for (const ReadBack& input : inputs_) check_against(at, view, bytes, input.name, *input.view);
    for (std::size_t i = 0; i < count_; ++i) {
      if (bytes.meets(entries_[i].bytes) && may_share(view, *entries_[i].view))
        refuse_shared(at, entries_[i].name);
    }
    entries_[count_++] = {name, &view, bytes};
  }

 private:
  void check_against(Argument at, const ConstTensorView& view, const ByteSpan& bytes, const char* name,
                     const ConstTensorView& input) const {
    if (input.empty()) return;
    if (bytes.meets(checked_bytes({who_, name}, input)) && may_share(view, input)) refuse_shared(at, name);
  }

  struct Entry {
    const char* name;
    const ConstTensorView* view;
    ByteSpan bytes;
  };
  const char* who_;
  const Problem& p_;
  std::span<const ReadBack> inputs_;
  std::array<Entry, 9> entries_;  // one per member of AttentionOutputs
  std::size_t count_ = 0;
};

}  // namespace headlight
