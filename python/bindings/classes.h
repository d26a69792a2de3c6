// C++ classes as classes of Python. Objects own a value of the class; without Constructor, only C++ makes them.
//
//   Class<Run>("Run", "One run.").def<&Run::positions>("positions").property("kind", [](const Run&) { … }).add_to(module);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/functions.h"

namespace headlight::python {

// What PyType_FromSpec reads. Kept as long as the interpreter.
struct TypeRecord {
  std::string name, documentation;
  std::vector<PyMethodDef> methods;
  std::vector<PyGetSetDef> properties;
  std::vector<std::unique_ptr<std::string>> texts;
  initproc constructor = nullptr;
  destructor destroy = nullptr;

  void add_method(const Record& record, PyCFunction function, int flags);
  // Adds the type to the module.
  [[nodiscard]] PyTypeObject* make(const Module& module);
};

// Python's arguments of __init__ as those of a call: first those without a name, then those with one.
struct InitArguments {
  InitArguments(PyObject* arguments, PyObject* keywords);
  std::vector<PyObject*> all;
  Py_ssize_t positional = 0;
  Object names;
};

// Frees an object whose C++ part has been destroyed.
void free_instance(PyObject* self);

template <class T>
class Class {
 public:
  explicit Class(const char* name, const char* documentation = "") : record_(new TypeRecord) {
    record_->name = name;
    record_->documentation = documentation;
    record_->destroy = [](PyObject* self) {
      delete static_cast<T*>(reinterpret_cast<Instance*>(self)->value);
      free_instance(self);
    };
  }

  // `make` returns a std::unique_ptr<T>. Python may then derive classes from this one.
  template <auto make, class... Extra>
  Class& constructor(Extra&&... extra) {
    Record& record = make_record<Fixed<make>>(record_->name.c_str(), extra...);
    record_->documentation = record_->name + record.signature("") + "\n--\n\n" + record_->documentation;
    record_->constructor = &init<make>;
    return *this;
  }
  template <auto function, class... Extra>
  Class& def(const char* name, Extra&&... extra) {
    return add<Fixed<function>>(make_record<Fixed<function>>(name, extra...));
  }
  template <class Lambda, class... Extra>
  Class& def(const char* name, Lambda, Extra&&... extra) {
    return add<Lambda>(make_record<Lambda>(name, extra...));
  }
  template <auto function, class... Extra>
  Class& def_static(const char* name, Extra&&... extra) {
    record_->add_method(make_record<Fixed<function>>(name, extra...),
                        as_c_function<&call_of<Fixed<function>, false>>(), METH_STATIC);
    return *this;
  }
  template <class Lambda>
  Class& property(const char* name, Lambda, const char* documentation = nullptr) {
    make_record<Lambda>(name);
    record_->properties.push_back({name, &get<Lambda>, nullptr, documentation, nullptr});
    return *this;
  }
  void add_to(const Module& module) { Registered<T>::type = record_->make(module); }

 private:
  template <class F>
  Class& add(const Record& record) {
    record_->add_method(record, as_c_function<&call_of<F, true>>(), 0);
    return *this;
  }

  template <class Lambda>
  static PyObject* get(PyObject* self, void*) {
    try {
      return call_sorted<Lambda>(&self).release();
    } catch (...) {
      raise_current();
      return nullptr;
    }
  }

  template <auto make>
  static int init(PyObject* self, PyObject* arguments, PyObject* keywords) {
    using Parameters = typename SignatureOf<Fixed<make>>::Parameters;
    constexpr std::size_t places = std::tuple_size_v<Parameters>;
    try {
      const InitArguments given(arguments, keywords);
      PyObject* all[places] = {};
      const Record& record = *record_of<Fixed<make>>;
      record.sort(given.all.data(), given.positional, given.names.ptr(), all, places);
      set_value(self, construct<make, Parameters>(all, record, std::make_index_sequence<places>()));
      return 0;
    } catch (...) {
      raise_current();
      return -1;
    }
  }
  template <auto make, class Parameters, std::size_t... at>
  static std::unique_ptr<T> construct(PyObject* const* all, const Record& record,
                                      std::index_sequence<at...>) {
    return make(
        from_python<std::tuple_element_t<at, Parameters>>(all[at], record.parameters[at].name.c_str())...);
  }
  // A second __init__ is refused: other threads may be using the value.
  static void set_value(PyObject* self, std::unique_ptr<T> value) {
    void*& place = reinterpret_cast<Instance*>(self)->value;
    if (place != nullptr)
      throw_type_error(type_name(self) + ".__init__ has run already; make another object");
    place = value.release();
  }

  TypeRecord* record_;
};

}  // namespace headlight::python
