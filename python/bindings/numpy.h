// NumPy's C interface, as far as arrays need it. Not its headers: they would tie the module to a range of NumPy versions. The
// structures and the places in its table of functions are the same in NumPy 1 and 2.
#pragma once

#include "bindings/objects.h"

namespace headlight::python {

// PyArrayObject_fields of ndarraytypes.h.
struct NumpyArray {
  PyObject head;
  char* data;
  int rank;
  Py_ssize_t *dimensions, *strides;  // strides in bytes
  PyObject *base, *descriptor;
  int flags;
};
inline constexpr int kNumpyAligned = 0x100, kNumpyWritable = 0x400;

// The beginning of PyArray_Descr.
struct NumpyDescriptor {
  PyObject head;
  PyTypeObject* type;
  char kind, letter, byte_order, flags;
  int number;
};

// Type numbers, which are part of its binary interface.
enum NumpyType {
  kBool = 0,
  kInt = 5,
  kLong = 7,
  kLongLong = 9,
  kFloat = 11,
  kDouble = 12,
  kHalf = 23,
  kUser = 256
};

struct Numpy {
  PyTypeObject* array_type;
  PyObject* (*descriptor_of)(int number);
  // Takes the reference to the descriptor, also when it fails.
  PyObject* (*new_array)(PyTypeObject*, PyObject* descriptor, int rank, const Py_ssize_t* dimensions,
                         const Py_ssize_t* strides, void* data, int flags, PyObject*);
  int (*set_base)(PyObject* array, PyObject* base);

  [[nodiscard]] bool is_array(Handle object) const {
    return PyType_IsSubtype(Py_TYPE(object.ptr()), array_type) != 0;
  }
};

// Imports NumPy when it is first called.
[[nodiscard]] const Numpy& numpy();

inline const NumpyArray& array_of(Handle array) { return *reinterpret_cast<const NumpyArray*>(array.ptr()); }
inline const NumpyDescriptor& descriptor_of(const NumpyArray& array) {
  return *reinterpret_cast<const NumpyDescriptor*>(array.descriptor);
}

}  // namespace headlight::python
