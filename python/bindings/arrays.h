// Arguments and results that are arrays: NumPy's, and anything with __dlpack__ in CPU memory. No element is copied
// unless the kernels cannot read it in place: a last axis that is not contiguous, foreign byte order, odd addresses.
#pragma once

#include "bindings/numpy.h"
#include "bindings/python.h"

namespace headlight::python {

// An argument. The view is valid while this object lives.
struct ArrayArg {
  ArrayArg() = default;
  // Throws Error{input} for objects that are not arrays, are not in CPU memory, or have an unsupported dtype.
  ArrayArg(Handle object, const char* name);

  ConstTensorView view;
  Object object;  // as passed
  Object memory;  // whose memory the view is
  bool dlpack = false;

  // With axes of size 1 in front, up to rank 4. `axes`: the fewest it may have.
  [[nodiscard]] ConstTensorView widened(const char* name, int axes = 2) const;
};

// f32 or f64 [n] from an array or a list of numbers; None: not given.
[[nodiscard]] ArrayArg numbers_arg(Handle object, const char* name, DType dtype);

// Creates results of the type of `like`: arrays of NumPy, or those that the other library creates from DLPack memory.
class ArrayMaker {
 public:
  explicit ArrayMaker(const ArrayArg& like) : like_(&like) {}

  // A result that is being written. Without `drop` leading axes, whose size is 1.
  class Result {
   public:
    [[nodiscard]] const TensorView& view() const { return view_; }
    [[nodiscard]] Object take();  // None: not requested

   private:
    friend class ArrayMaker;
    Object object_;  // NumPy's
    Tensor tensor_;  // otherwise
    const ArrayMaker* maker_ = nullptr;
    TensorView view_;
    int drop_ = 0;
  };
  [[nodiscard]] Result make(const Shape& shape, DType dtype, int drop = 0) const;

 private:
  [[nodiscard]] Object finish(Tensor tensor, int drop) const;
  const ArrayArg* like_;
};

// NumPy's array over a tensor's memory, which it owns from here on.
[[nodiscard]] Object to_numpy(Tensor tensor);
[[nodiscard]] Object to_numpy_copy(ConstTensorView view);  // bf16 becomes f32
// The same elements; `out` is contiguous.
void copy_into(ConstTensorView view, TensorView out);
[[nodiscard]] Tensor contiguous(ConstTensorView view);  // a copy
[[nodiscard]] Object capsule_of(Tensor* tensor);        // deletes it when released

// DLPack (dlpack.cc).
struct DlpackView {
  ConstTensorView view;
  Object capsule;
};
[[nodiscard]] DlpackView import_dlpack(Handle object, const char* name);
// An object with __dlpack__ and __dlpack_device__.
[[nodiscard]] Object export_dlpack(Tensor tensor, int drop);

}  // namespace headlight::python
