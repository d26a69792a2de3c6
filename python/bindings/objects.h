// Python's objects over its limited C API, which has the same binary interface in every Python from 3.10 on: one module
// serves them all (docs/decisions/0015-wheels-and-archives.md). No file of the bindings uses anything beyond that API.
//
// Everything here needs the interpreter's lock unless it says otherwise. Where Python reports an error, PythonError is thrown.
#pragma once

#include <Python.h>

#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#ifndef Py_LIMITED_API
#error "the bindings are compiled with Py_LIMITED_API (cmake/python.cmake)"
#endif

namespace headlight::python {

// The interpreter's lock is released while this exists.
class ReleaseLock {
 public:
  ReleaseLock() : state_(PyEval_SaveThread()) {}
  ~ReleaseLock() { PyEval_RestoreThread(state_); }
  ReleaseLock(const ReleaseLock&) = delete;
  ReleaseLock& operator=(const ReleaseLock&) = delete;

 private:
  PyThreadState* state_;
};

// The interpreter's lock is held while this exists, on any thread, also one that Python did not start.
class HoldLock {
 public:
  HoldLock() : state_(PyGILState_Ensure()) {}
  ~HoldLock() { PyGILState_Release(state_); }
  HoldLock(const HoldLock&) = delete;
  HoldLock& operator=(const HoldLock&) = delete;

 private:
  PyGILState_STATE state_;
};

// The error that Python has set, as a C++ exception. May be copied, kept and destroyed without the lock.
class PythonError : public std::exception {
 public:
  PythonError();
  [[nodiscard]] bool matches(PyObject* type) const noexcept;
  void restore() const noexcept;  // sets it in Python again
  [[nodiscard]] const char* what() const noexcept override { return "an error that Python has set"; }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

[[noreturn]] void throw_type_error(const std::string& text);  // Python's TypeError

class Object;
class ObjectIterator;

// An object that somebody else keeps alive.
class Handle {
 public:
  Handle() = default;
  Handle(PyObject* object) : object_(object) {}

  [[nodiscard]] PyObject* ptr() const { return object_; }
  [[nodiscard]] bool is_none() const { return object_ == Py_None; }
  explicit operator bool() const { return object_ != nullptr; }

  [[nodiscard]] Object attr(const char* name) const;
  [[nodiscard]] Object attr_or_none(const char* name) const;
  [[nodiscard]] bool has(const char* name) const { return PyObject_HasAttrString(object_, name) != 0; }
  void set_attr(const char* name, Handle value) const;
  template <class... Arguments>
  Object operator()(Arguments&&... arguments) const;

  // Items of anything that Python can iterate over.
  [[nodiscard]] ObjectIterator begin() const;
  [[nodiscard]] std::nullptr_t end() const { return nullptr; }

 protected:
  PyObject* object_ = nullptr;
};

// An object that is kept alive, or none at all.
class Object : public Handle {
 public:
  Object() = default;
  Object(const Object& other) : Handle(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : Handle(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  // A new reference to it.
  static Object borrowed(Handle object) {
    Py_XINCREF(object.ptr());
    return Object(object.ptr());
  }
  // What a function of Python's API returned: a new reference, or null for an error.
  static Object taken(PyObject* object) {
    if (object == nullptr) throw PythonError();
    return Object(object);
  }
  static Object taken_or_empty(PyObject* object) { return Object(object); }

  [[nodiscard]] PyObject* release() { return std::exchange(object_, nullptr); }

 protected:
  explicit Object(PyObject* object) : Handle(object) {}
};

class ObjectIterator {
 public:
  explicit ObjectIterator(Handle items) : iterator_(Object::taken(PyObject_GetIter(items.ptr()))) { next(); }
  [[nodiscard]] const Object& operator*() const { return item_; }
  ObjectIterator& operator++() {
    next();
    return *this;
  }
  bool operator!=(std::nullptr_t) const { return static_cast<bool>(item_); }

 private:
  void next();
  Object iterator_, item_;
};

[[nodiscard]] inline Object none() { return Object::borrowed(Py_None); }
[[nodiscard]] Object import(const char* module);
[[nodiscard]] std::string type_name(Handle value);  // for messages

// str. Invalid UTF-8 becomes U+FFFD.
class Str : public Object {
 public:
  explicit Str(std::string_view text);
};

class Bytes : public Object {
 public:
  explicit Bytes(std::string_view bytes);
};

class Tuple : public Object {
 public:
  explicit Tuple(std::initializer_list<Object> items);
  explicit Tuple(Handle given) : Object(borrowed(given)) {}  // a tuple
  [[nodiscard]] Py_ssize_t size() const { return PyTuple_Size(object_); }
};

class List : public Object {
 public:
  List() : Object(taken(PyList_New(0))) {}
  explicit List(Handle given) : Object(borrowed(given)) {}  // a list
  void append(Handle item) {
    if (PyList_Append(object_, item.ptr()) < 0) throw PythonError();
  }
};

// dict with keys that are str.
class Dict : public Object {
 public:
  Dict() : Object(taken(PyDict_New())) {}
  explicit Dict(Handle given) : Object(borrowed(given)) {}  // a dict
  [[nodiscard]] bool contains(const char* key) const;
  [[nodiscard]] Object get(const char* key) const;  // empty if it has none
  void set(Handle key, Handle value) {
    if (PyDict_SetItem(object_, key.ptr(), value.ptr()) < 0) throw PythonError();
  }

  // out["key"] = value, with any value that to_python() knows.
  class Entry {
   public:
    Entry(Dict& dict, const char* key) : dict_(dict), key_(key) {}
    template <class Value>
    void operator=(Value&& value);

   private:
    Dict& dict_;
    const char* key_;
  };
  [[nodiscard]] Entry operator[](const char* key) { return {*this, key}; }
};

// A capsule that calls `destroy` with `pointer` when it is released. `name` is a literal.
[[nodiscard]] Object make_capsule(void* pointer, const char* name, PyCapsule_Destructor destroy);

}  // namespace headlight::python
