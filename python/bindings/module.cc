// The extension module headlight._headlight. Users see the package's Python files.
#include "bindings/python.h"
#include "headlight/version.h"

namespace {

PyObject* make_by_call(PyTypeObject* type, PyObject*, PyObject*) {
  return pybind11::detail::make_new_instance(type);
}

// pybind11 lets Class.__new__(Class) create an object without its C++ part, and methods then read uninitialised memory.
// Python refuses __new__ of a class that differs from its base's; calling the class works as before.
void forbid_new(const pybind11::module_& module) {
  for (const auto& [name, value] : module.attr("__dict__").cast<pybind11::dict>())
    if (PyType_Check(value.ptr()) &&
        pybind11::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr())))
      reinterpret_cast<PyTypeObject*>(value.ptr())->tp_new = make_by_call;
}

}  // namespace

PYBIND11_MODULE(_headlight, module) {
  namespace python = headlight::python;
  module.doc() = "Bindings of libheadlight; use the package headlight.";
  module.attr("__version__") = headlight::kVersion;
  python::define_error(module);
  python::define_dlpack(module);
  python::define_attention(module);
  python::define_kv_cache(module);
  python::define_model(module);
  python::define_run(module);
  python::define_events(module);
  python::define_questions(module);
  python::define_changes(module);
  python::define_writing(module);
  python::define_pictures(module);
  module.def("simd_targets", [] {
    pybind11::list names;
    for (const headlight::SimdTarget target : headlight::supported_targets())
      names.append(pybind11::str(std::string(headlight::name_of(target))));
    return names;
  });
  forbid_new(module);
}
