// What every file of the bindings shares: pybind11, and values that are read from Python with the library's own errors.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/progress.h"
#include "headlight/tensor.h"

namespace headlight::python {

namespace py = pybind11;

// headlight.Error with .kind and .code, and the rule that turns the library's exceptions into it.
void define_error(py::module_& module);
// Inside a catch block: the current exception becomes Python's. For functions that pybind11 does not wrap.
void raise_current() noexcept;

// The calling thread's Context. 0: all cores.
[[nodiscard]] Context& context_for(Index threads);
[[nodiscard]] Context& context_for(py::handle threads);  // None: all cores

// Numbers and booleans from Python. Each throws Error{usage} that names the argument and what was found.
[[nodiscard]] Index to_index(py::handle value, const char* name);
[[nodiscard]] double to_number(py::handle value, const char* name);
[[nodiscard]] bool to_switch(py::handle value, const char* name);
[[nodiscard]] std::vector<Index> to_indices(py::handle values, const char* name);  // None: none
// None, a slice with step 1, or a pair (begin, end). Negative ends of a slice count from the end.
[[nodiscard]] std::pair<Index, Index> to_range(py::handle value, Index size, const char* name);
[[nodiscard]] std::string repr_of(py::handle value);  // short, for messages

// Ctrl-C ends the call; `report` (a callable or None) is called with (what, done, total).
[[nodiscard]] Progress progress_of(const py::object& report);

void define_attention(py::module_& module);
void define_dlpack(py::module_& module);
void define_kv_cache(py::module_& module);
void define_model(py::module_& module);
void define_run(py::module_& module);
void define_events(py::module_& module);
void define_questions(py::module_& module);
void define_changes(py::module_& module);
void define_writing(py::module_& module);
void define_pictures(py::module_& module);

}  // namespace headlight::python
