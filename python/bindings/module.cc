// The extension module headlight._headlight. Users see the package's Python files.
#include "bindings/python.h"
#include "headlight/version.h"

namespace headlight::python {
namespace {

List simd_targets() {
  List names;
  for (const SimdTarget target : supported_targets()) names.append(Str(name_of(target)));
  return names;
}

void fill(const Module& module) {
  module.set("__version__", Str(kVersion));
  define_error(module);
  define_dlpack(module);
  define_attention(module);
  define_kv_cache(module);
  define_model(module);
  define_run(module);
  define_events(module);
  define_questions(module);
  define_changes(module);
  define_writing(module);
  define_pictures(module);
  module.def<&simd_targets>("simd_targets");
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_headlight",
                          "Bindings of libheadlight; use the package headlight.",
                          -1,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace headlight::python

PyMODINIT_FUNC PyInit__headlight() {
  namespace python = headlight::python;
  PyObject* module = PyModule_Create(&python::definition);
  if (module == nullptr) return nullptr;
  try {
    python::fill(python::Module(module));
    return module;
  } catch (...) {
    python::raise_current();
    Py_DECREF(module);
    return nullptr;
  }
}
