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
    const Object value = Handle(error_type)(Str(error.what()));
    value.set_attr("kind", Str(name_of(error.kind())));
    value.set_attr("code", Str(error.code()));
    PyErr_SetObject(error_type, value.ptr());
  } catch (PythonError& problem) { problem.restore(); }
}

}  // namespace

void define_error(const Module& module) {
  error_type = PyErr_NewExceptionWithDoc(
      "headlight.Error",
      "An error of the library. The text says what was asked, what was found and what to do.\n\n"
      "kind: 'usage' (the call makes no sense), 'input' (data was refused), 'file', 'resource' (memory or "
      "another\n"
      "limit), 'numeric' or 'peer'. code: a stable name such as 'attention.heads'.",
      PyExc_Exception, nullptr);
  if (error_type == nullptr) throw PythonError();
  const Handle type(error_type);
  type.set_attr("kind", Str("usage"));
  type.set_attr("code", Str(""));
  module.set("Error", type);
}

void raise_current() noexcept {
  try {
    throw;
  } catch (PythonError& error) { error.restore(); } catch (const Error& error) {
    raise(error);
  } catch (const Cancelled&) { PyErr_SetNone(PyExc_KeyboardInterrupt); } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
}

}  // namespace headlight::python
