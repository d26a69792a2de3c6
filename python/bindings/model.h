// Values of the model API as Python sees them: texts, parts, heads, and dictionaries that results.py gives names to.
#pragma once

#include <pybind11/stl.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/python.h"
#include "headlight/effects.h"
#include "headlight/run.h"

namespace headlight::python {

[[nodiscard]] std::string to_text(py::handle value, const char* name);  // UTF-8; lone surrogates become "?"
[[nodiscard]] py::str from_text(std::string_view text);                 // invalid UTF-8 becomes U+FFFD
[[nodiscard]] std::vector<std::string> to_texts(py::handle values, const char* name);
[[nodiscard]] std::vector<std::int32_t> to_ids(py::handle values, const char* name);

[[nodiscard]] Part to_part(py::handle value);                         // "encoder", "decoder", "cross"
[[nodiscard]] std::optional<Part> to_part_or_none(py::handle value);  // None: none
[[nodiscard]] py::str from_part(Part part);
[[nodiscard]] std::vector<HeadPlace> to_places(py::handle values);  // [(layer, head), …]
[[nodiscard]] Change to_change(const std::string& name);
[[nodiscard]] std::vector<Range> to_ranges(py::handle values, const char* name);  // [(begin, end), …]

// {"text", "target", "second", "ids", "target_ids", "type_ids", "continuation"}, each may be missing.
[[nodiscard]] Prompt to_prompt(const py::dict& prompt);
[[nodiscard]] py::dict from_tokenized(const TokenizedText& text);
[[nodiscard]] py::tuple from_range(Range range);

// A list made by a function of each item.
template <class Items, class Function>
[[nodiscard]] py::list list_of(const Items& items, Function&& function) {
  py::list out;
  for (const auto& item : items) out.append(function(item));
  return out;
}
template <class T>
[[nodiscard]] py::object value_or_none(const std::optional<T>& value) {
  return value ? py::object(py::cast(*value)) : py::object(py::none());
}

// Python callables as hooks of a run. None: no hook. Both must outlive the run, and be destroyed with the interpreter held.
[[nodiscard]] std::unique_ptr<Observer> observer_of(const py::object& hook);
[[nodiscard]] std::unique_ptr<Intervention> intervention_of(const py::object& hook);

}  // namespace headlight::python
