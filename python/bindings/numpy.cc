#include "bindings/numpy.h"

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::python {
namespace {

// Places in the table of numpy._ARRAY_API (numpy/__multiarray_api.h).
enum Place {
  kVersion = 0,
  kArrayType = 2,
  kDescriptorFromType = 45,
  kNewFromDescriptor = 94,
  kSetBaseObject = 282
};

template <class Function>
Function function_at(void** table, Place place) {
  return reinterpret_cast<Function>(table[place]);
}

Object array_api() {
  // NumPy 2 renamed the module and warns of the old name.
  try {
    return import("numpy._core.multiarray").attr("_ARRAY_API");
  } catch (const PythonError& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  return import("numpy.core.multiarray").attr("_ARRAY_API");
}

Numpy load() {
  const Object capsule = array_api();
  void** table = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (table == nullptr) throw PythonError();
  // Two changes of the binary interface so far; the next one may move what is read here.
  const unsigned version = function_at<unsigned (*)()>(table, kVersion)();
  if ((version >> 24) != 1 && (version >> 24) != 2)
    throw Error(
        ErrorKind::usage, "python.numpy",
        concat("the binary interface of this NumPy has number ", version >> 24, "; need NumPy 1 or 2"));
  return {.array_type = static_cast<PyTypeObject*>(table[kArrayType]),
          .descriptor_of = function_at<decltype(Numpy::descriptor_of)>(table, kDescriptorFromType),
          .new_array = function_at<decltype(Numpy::new_array)>(table, kNewFromDescriptor),
          .set_base = function_at<decltype(Numpy::set_base)>(table, kSetBaseObject)};
}

}  // namespace

const Numpy& numpy() {
  // Not a static that load() initialises: an import lets other threads run, and one of them would wait here with the lock.
  static Numpy loaded{};
  if (loaded.array_type == nullptr) loaded = load();
  return loaded;
}

}  // namespace headlight::python
