#include "bindings/objects.h"

namespace headlight::python {

struct PythonError::State {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  ~State() {
    const HoldLock hold;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  }
};

PythonError::PythonError() : state_(std::make_shared<State>()) {
  if (PyErr_Occurred() == nullptr)
    PyErr_SetString(PyExc_SystemError, "a function of Python failed without an error");
  PyErr_Fetch(&state_->type, &state_->value, &state_->trace);
}

bool PythonError::matches(PyObject* type) const noexcept {
  return PyErr_GivenExceptionMatches(state_->type, type) != 0;
}

void PythonError::restore() const noexcept {
  Py_XINCREF(state_->type);
  Py_XINCREF(state_->value);
  Py_XINCREF(state_->trace);
  PyErr_Restore(state_->type, state_->value, state_->trace);
}

void throw_type_error(const std::string& text) {
  PyErr_SetString(PyExc_TypeError, text.c_str());
  throw PythonError();
}

Object Handle::attr(const char* name) const { return Object::taken(PyObject_GetAttrString(object_, name)); }

Object Handle::attr_or_none(const char* name) const {
  PyObject* value = PyObject_GetAttrString(object_, name);
  if (value != nullptr) return Object::taken(value);
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonError();
  PyErr_Clear();
  return none();
}

void Handle::set_attr(const char* name, Handle value) const {
  if (PyObject_SetAttrString(object_, name, value.ptr()) < 0) throw PythonError();
}

ObjectIterator Handle::begin() const { return ObjectIterator(*this); }

void ObjectIterator::next() {
  item_ = Object::taken_or_empty(PyIter_Next(iterator_.ptr()));
  if (!item_ && PyErr_Occurred() != nullptr) throw PythonError();
}

Object import(const char* module) { return Object::taken(PyImport_ImportModule(module)); }

std::string type_name(Handle value) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(value.ptr()));
  const Object name = Object::taken_or_empty(PyObject_GetAttrString(type, "__name__"));
  const char* bytes = name ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
  if (bytes != nullptr) return bytes;
  PyErr_Clear();
  return "object";
}

Str::Str(std::string_view text)
    : Object(taken(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"))) {}

Bytes::Bytes(std::string_view bytes)
    : Object(taken(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())))) {}

Tuple::Tuple(std::initializer_list<Object> items)
    : Object(taken(PyTuple_New(static_cast<Py_ssize_t>(items.size())))) {
  Py_ssize_t at = 0;
  for (const Object& item : items) PyTuple_SetItem(object_, at++, Object(item).release());
}

bool Dict::contains(const char* key) const { return static_cast<bool>(get(key)); }

Object Dict::get(const char* key) const {
  const Str text(key);
  PyObject* value = PyDict_GetItemWithError(object_, text.ptr());
  if (value == nullptr && PyErr_Occurred() != nullptr) throw PythonError();
  return borrowed(value);
}

Object make_capsule(void* pointer, const char* name, PyCapsule_Destructor destroy) {
  return Object::taken(PyCapsule_New(pointer, name, destroy));
}

}  // namespace headlight::python
