// (out, lse) is a value you can add: attention over two runs of keys is the weighted mean of both.
#include <cmath>
#include <limits>

#include "core/concat.h"
#include "core/float_mode.h"
#include "headlight/attention.h"

namespace headlight {
namespace {

void check_merge(const ConstTensorView& out, const ConstTensorView& lse, const ConstTensorView& other_out,
                 const ConstTensorView& other_lse) {
  const auto refuse = [](const char* code, const std::string& what) {
    throw Error(ErrorKind::input, code, concat("merge: ", what));
  };
  if (out.rank() != 4)
    refuse("merge.rank", concat("out has rank ", out.rank(), "; need [batch, head, query, dim]"));
  if (lse.rank() != 3)
    refuse("merge.rank", concat("lse has rank ", lse.rank(), "; need [batch, head, query]"));
  if (other_out.shape() != out.shape() || other_lse.shape() != lse.shape()) {
    refuse("merge.shape",
           concat("out is ", out.shape().text(), " and lse ", lse.shape().text(), " but the other part has ",
                  other_out.shape().text(), " and ", other_lse.shape().text(), "; need the same shapes"));
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (lse.dim(axis) != out.dim(axis)) {
      refuse("merge.shape", concat("out is ", out.shape().text(), " but lse is ", lse.shape().text()));
    }
  }
  if (!is_float(out.dtype()) || other_out.dtype() != out.dtype() || other_lse.dtype() != lse.dtype() ||
      (lse.dtype() != DType::f32 && lse.dtype() != DType::f64)) {
    refuse("merge.dtype", concat("out is ", name_of(out.dtype()), " with ", name_of(other_out.dtype()),
                                 ", lse ", name_of(lse.dtype()), " with ", name_of(other_lse.dtype()),
                                 "; need parts alike, and lse in f32 or f64"));
  }
  if (out.shape().elements() > 0 && (out.data() == nullptr || lse.data() == nullptr ||
                                     other_out.data() == nullptr || other_lse.data() == nullptr)) {
    refuse("merge.null", "a part has elements but no memory");
  }
}

}  // namespace

// In double: a part may come from any dtype, and the result is rounded once.
void merge(TensorView out, TensorView lse, ConstTensorView other_out, ConstTensorView other_lse) {
  check_merge(out, lse, other_out, other_lse);
  const DefaultFloatMode float_mode;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  for (Index b = 0; b < out.dim(0); ++b) {
    for (Index h = 0; h < out.dim(1); ++h) {
      for (Index i = 0; i < out.dim(2); ++i) {
        const double mine = lse.at(b, h, i), theirs = other_lse.at(b, h, i);
        if (theirs == kNone) continue;  // nothing to add, and not a bit to change
        const double top = std::max(mine, theirs);
        const double a = mine == kNone ? 0 : std::exp(mine - top), c = std::exp(theirs - top);
        for (Index d = 0; d < out.dim(3); ++d) {
          const double past = mine == kNone ? 0 : a * out.at(b, h, i, d);
          out.set(b, h, i, d, (past + c * other_out.at(b, h, i, d)) / (a + c));
        }
        lse.set(b, h, i, top + std::log(a + c));
      }
    }
  }
}

}  // namespace headlight
