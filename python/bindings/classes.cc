#include "bindings/classes.h"

#include "core/concat.h"

namespace headlight::python {

void TypeRecord::add_method(const Record& record, PyCFunction function, int flags) {
  // Python reads the signature off the text's first line. Arguments without names have none.
  const bool is_static = (flags & METH_STATIC) != 0;
  const bool named = record.parameters.size() + (is_static ? 0 : 1) == record.places;
  std::string text = record.documentation;
  if (named) text = concat(record.name, record.signature(is_static ? "" : "$self"), "\n--\n\n", text);
  texts.push_back(std::make_unique<std::string>(std::move(text)));
  methods.push_back(
      {record.name.c_str(), function, METH_FASTCALL | METH_KEYWORDS | flags, texts.back()->c_str()});
}

PyTypeObject* TypeRecord::make(const Module& module) {
  const std::string full = "headlight._headlight." + name;
  texts.push_back(std::make_unique<std::string>(full));
  methods.push_back({nullptr, nullptr, 0, nullptr});
  properties.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
  std::vector<PyType_Slot> slots = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                    {Py_tp_methods, methods.data()},
                                    {Py_tp_getset, properties.data()},
                                    {Py_tp_doc, const_cast<char*>(documentation.c_str())}};
  unsigned flags = Py_TPFLAGS_DEFAULT;
  if (constructor != nullptr) {
    slots.push_back({Py_tp_new, reinterpret_cast<void*>(&PyType_GenericNew)});
    slots.push_back({Py_tp_init, reinterpret_cast<void*>(constructor)});
    flags |= Py_TPFLAGS_BASETYPE;
  } else {
    flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec{texts.back()->c_str(), static_cast<int>(sizeof(Instance)), 0, flags, slots.data()};
  const Object type = Object::taken(PyType_FromSpec(&spec));
  module.set(name.c_str(), type);
  return reinterpret_cast<PyTypeObject*>(Object(type).release());
}

InitArguments::InitArguments(PyObject* arguments, PyObject* keywords) {
  positional = PyTuple_Size(arguments);
  for (Py_ssize_t i = 0; i < positional; ++i) all.push_back(PyTuple_GetItem(arguments, i));
  if (keywords == nullptr || PyDict_Size(keywords) == 0) return;
  names = Object::taken(PyTuple_New(PyDict_Size(keywords)));
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t place = 0, at = 0;
  while (PyDict_Next(keywords, &place, &key, &value) != 0) {
    PyTuple_SetItem(names.ptr(), at++, Object::borrowed(key).release());
    all.push_back(value);
  }
}

void free_instance(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));  // objects of types made at run time keep their type
}

}  // namespace headlight::python
