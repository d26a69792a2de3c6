// The extension module headlight._headlight. The package's Python files are what users see.
#include "bindings/python.h"
#include "headlight/version.h"

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
}
