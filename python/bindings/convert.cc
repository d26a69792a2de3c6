#include "bindings/convert.h"

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::python {

PyObject* new_instance(PyTypeObject* type) {
  PyObject* object = PyType_GenericAlloc(type, 0);  // all bytes are zero
  if (object == nullptr) throw PythonError();
  return object;
}

void* value_of(Handle object, PyTypeObject* type) {
  if (PyType_IsSubtype(Py_TYPE(object.ptr()), type) == 0)
    throw_type_error(concat("a ", type_name(object), " is given; need another object of headlight"));
  void* value = reinterpret_cast<Instance*>(object.ptr())->value;
  if (value != nullptr) return value;
  const std::string name = type_name(object);
  throw Error(ErrorKind::usage, "python.init",
              concat(name, ".__init__ has not run; call super().__init__(…) first"));
}

void check_argument(bool good, Handle value, const char* name, const char* wanted) {
  if (!good) throw_type_error(concat(name, " is a ", type_name(value), "; need ", wanted));
}

long long integer_argument(Handle value, const char* name, long long least, long long most) {
  const Object number = Object::taken_or_empty(PyNumber_Index(value.ptr()));
  if (!number) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw PythonError();
    PyErr_Clear();
  }
  check_argument(static_cast<bool>(number), value, name, "an integer");
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || result < least || result > most)
    throw_type_error(concat(name, " is outside of ", least, " to ", most));
  return result;
}

double number_argument(Handle value, const char* name) {
  const double result = PyFloat_AsDouble(value.ptr());
  if (result == -1 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw PythonError();
    PyErr_Clear();
    check_argument(false, value, name, "a number");
  }
  return result;
}

bool switch_argument(Handle value, const char* name) {
  check_argument(value.ptr() == Py_True || value.ptr() == Py_False, value, name, "True or False");
  return value.ptr() == Py_True;
}

std::string text_argument(Handle value, const char* name) {
  check_argument(PyUnicode_Check(value.ptr()), value, name, "a str");
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (bytes == nullptr) throw PythonError();
  return {bytes, static_cast<std::size_t>(size)};
}

std::vector<std::string> texts_argument(Handle value, const char* name) {
  check_argument(PyUnicode_Check(value.ptr()) == 0, value, name, "a list of str");
  std::vector<std::string> out;
  for (const Object& item : value) out.push_back(text_argument(item, name));
  return out;
}

}  // namespace headlight::python
