#include <exception>
#include <new>

#include "bindings/python.h"

namespace headlight::python {
namespace {

// Lives as long as the interpreter: modules are never unloaded.
PyObject* error_type = nullptr;

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::input: return "input";
    case ErrorKind::file: return "file";
    case ErrorKind::resource: return "resource";
    case ErrorKind::numeric: return "numeric";
    case ErrorKind::peer: return "peer";
  }
  return "usage";
}

void raise(const Error& error) {
  try {
    const py::object value =
        py::reinterpret_borrow<py::object>(error_type)(py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
            error.what(), static_cast<Py_ssize_t>(std::char_traits<char>::length(error.what())), "replace")));
    value.attr("kind") = name_of(error.kind());
    value.attr("code") = error.code();
    PyErr_SetObject(error_type, value.ptr());
  } catch (py::error_already_set& problem) { problem.restore(); }
}

}  // namespace

void define_error(py::module_& module) {
  error_type = PyErr_NewExceptionWithDoc(
      "headlight.Error",
      "An error of the library. The text says what was asked, what was found and what to do.\n\n"
      "kind: 'usage' (the call makes no sense), 'input' (data was refused), 'file', 'resource' (memory or "
      "another\n"
      "limit), 'numeric' or 'peer'. code: a stable name such as 'attention.heads'.",
      PyExc_Exception, nullptr);
  if (error_type == nullptr) throw py::error_already_set();
  const py::handle type(error_type);
  type.attr("kind") = "usage";
  type.attr("code") = "";
  module.attr("Error") = type;
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) { raise(error); } catch (const Cancelled&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

void raise_current() noexcept {
  try {
    throw;
  } catch (py::error_already_set& error) { error.restore(); } catch (const Error& error) {
    raise(error);
  } catch (const Cancelled&) { PyErr_SetNone(PyExc_KeyboardInterrupt); } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
}

}  // namespace headlight::python
