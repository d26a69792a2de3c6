#include "bindings/functions.h"

#include <algorithm>

#include "core/concat.h"

namespace headlight::python {
namespace {

std::string text_of(PyObject* text) {
  const char* bytes = PyUnicode_AsUTF8AndSize(text, nullptr);
  if (bytes == nullptr) throw PythonError();
  return bytes;
}

}  // namespace

void Record::sort(PyObject* const* given, Py_ssize_t count, PyObject* names, PyObject** all,
                  std::size_t free) const {
  const auto number = static_cast<std::size_t>(count);
  const std::size_t most = parameters.empty() ? free : positional;
  if (number > most)
    throw_type_error(concat(name, "() takes ", most, " arguments without a name, ", number, " are given"));
  std::copy(given, given + number, all);
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    const std::string key = text_of(PyTuple_GetItem(names, i));
    const auto found =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == key; });
    if (found == parameters.end()) {
      if (any_keyword) continue;
      throw_type_error(concat(name, "() has no argument ", key));
    }
    PyObject*& place = all[found - parameters.begin()];
    if (place != nullptr) throw_type_error(concat(name, "() is given ", key, " twice"));
    place = given[number + static_cast<std::size_t>(i)];
  }
  for (std::size_t i = 0; i < free; ++i) {
    if (all[i] != nullptr) continue;
    if (i >= parameters.size())
      throw_type_error(concat(name, "() needs ", free, " arguments, ", number, " are given"));
    if (!parameters[i].fallback) throw_type_error(concat(name, "() needs the argument ", parameters[i].name));
    all[i] = parameters[i].fallback.ptr();
  }
}

std::string Record::signature(const char* self) const {
  std::string out = concat("(", self);
  const auto add = [&](const std::string& item) { out += concat(out.size() > 1 ? ", " : "", item); };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i == positional) add("*");
    const Object& fallback = parameters[i].fallback;
    if (!fallback) {
      add(parameters[i].name);
      continue;
    }
    const Object text = Object::taken(PyObject_Repr(fallback.ptr()));
    add(concat(parameters[i].name, "=", text_of(text.ptr())));
  }
  if (any_keyword) add("**options");
  return out + ")";
}

}  // namespace headlight::python
