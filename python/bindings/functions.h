// C++ functions as functions of Python: definition of parameters, and the call.
//
// A function is known by its type: each lambda without captures has its own type, and Fixed<&function> is one for a
// pointer. Python gives a C function its arguments and nothing else, so each such type has its own C function,
// call_of<F>, and its own record. Records live as long as the interpreter: extension modules are never unloaded.
#pragma once

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/convert.h"

namespace headlight::python {

// Inside a catch block: the current exception becomes Python's.
void raise_current() noexcept;

// A parameter; arg("k") is required, arg("v", none()) has a default value.
struct Parameter {
  std::string name;
  Object fallback;  // empty: required
};
template <class... Value>
[[nodiscard]] Parameter arg(const char* name, Value&&... fallback) {
  if constexpr (sizeof...(Value) == 0) return {name, {}};
  else return {name, to_python(std::forward<Value>(fallback)...)};
}

struct Record {
  std::string name, documentation;
  std::vector<Parameter> parameters;  // empty: arguments are taken in their places alone
  std::size_t places = 0;             // arguments of the C++ function, the object of a method included
  std::size_t positional = 0;         // how many parameters may be given without a name
  bool any_keyword = false;           // further names are accepted and not read

  // `all`: one place for each argument, `free` of them. `names`: those of the arguments after `given`, a tuple or null.
  void sort(PyObject* const* given, Py_ssize_t count, PyObject* names, PyObject** all,
            std::size_t free) const;
  [[nodiscard]] std::string signature(const char* self) const;  // (self, k, v=None), or nothing without names
};

template <auto function>
struct Fixed {
  template <class... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) const {
    return std::invoke(function, std::forward<Arguments>(arguments)...);
  }
};

// Parameters and result of a function, of a method (its object comes first), and of a lambda (which is no object of Python).
template <class R, class... P>
struct Signature {
  using Result = R;
  using Parameters = std::tuple<P...>;  // never made: for its types
};
template <class F>
struct OfPointer;
template <class R, class... P>
struct OfPointer<R (*)(P...)> : Signature<R, P...> {};
template <class C, class R, class... P>
struct OfPointer<R (C::*)(P...) const> : Signature<R, const C&, P...> {};
template <class C, class R, class... P>
struct OfPointer<R (C::*)(P...) const noexcept> : Signature<R, const C&, P...> {};
template <class F>
struct OfLambda;
template <class C, class R, class... P>
struct OfLambda<R (C::*)(P...) const> : Signature<R, P...> {};

template <class F>
struct SignatureOf : OfLambda<decltype(&F::operator())> {};
template <auto function>
struct SignatureOf<Fixed<function>> : OfPointer<decltype(function)> {};

template <class F>
inline Record* record_of = nullptr;

// Calls F with objects that are in the order of its parameters; a function without a result returns None.
template <class F, class Parameters, std::size_t... at>
Object call_with_all([[maybe_unused]] PyObject* const* all, std::index_sequence<at...>) {
  const Record& record = *record_of<F>;
  [[maybe_unused]] const auto name = [&](std::size_t i) {
    const std::size_t unnamed = record.places - record.parameters.size();  // in front: the object of a method
    return i >= unnamed ? record.parameters[i - unnamed].name.c_str() : "an argument";
  };
  if constexpr (std::is_void_v<typename SignatureOf<F>::Result>) {
    std::invoke(F{}, from_python<std::tuple_element_t<at, Parameters>>(all[at], name(at))...);
    return none();
  } else {
    return to_python(
        std::invoke(F{}, from_python<std::tuple_element_t<at, Parameters>>(all[at], name(at))...));
  }
}

template <class F>
Object call_sorted(PyObject* const* all) {
  using Parameters = typename SignatureOf<F>::Parameters;
  return call_with_all<F, Parameters>(all, std::make_index_sequence<std::tuple_size_v<Parameters>>());
}

// METH_FASTCALL | METH_KEYWORDS. With `method`, the object is the first argument.
template <class F, bool method>
PyObject* call_of(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
  constexpr std::size_t places = std::tuple_size_v<typename SignatureOf<F>::Parameters>;
  PyObject* all[places + 1] = {method ? self : nullptr};  // one more: an array of none is not allowed
  constexpr std::size_t first = method ? 1 : 0;
  try {
    record_of<F>->sort(given, count, names, all + first, places - first);
    return call_sorted<F>(all).release();
  } catch (...) {
    raise_current();
    return nullptr;
  }
}

// The C function that Python calls, as the type that it is stored as.
template <auto function>
PyCFunction as_c_function() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// What a parameter list may contain in addition to parameters.
struct KeywordsOnly {};  // those after it need their name
struct AnyKeyword {};

// Makes the record of F from any of Parameter, KeywordsOnly, AnyKeyword and a text.
template <class F, class... Extra>
Record& make_record(const char* name, Extra&&... extra) {
  auto* record = new Record;
  record->name = name;
  record->places = std::tuple_size_v<typename SignatureOf<F>::Parameters>;
  bool by_place = true;
  [[maybe_unused]] const auto add = [&](const auto& item) {
    using Item = std::decay_t<decltype(item)>;
    if constexpr (std::is_same_v<Item, Parameter>) {
      record->parameters.push_back(item);
      record->positional += by_place ? 1 : 0;
    } else if constexpr (std::is_same_v<Item, KeywordsOnly>) {
      by_place = false;
    } else if constexpr (std::is_same_v<Item, AnyKeyword>) {
      record->any_keyword = true;
    } else {
      record->documentation = item;
    }
  };
  (add(extra), ...);
  record_of<F> = record;
  return *record;
}

// The extension module, while it is being filled.
class Module {
 public:
  explicit Module(PyObject* module) : module_(module) {}
  [[nodiscard]] PyObject* ptr() const { return module_; }
  void set(const char* name, Handle value) const { Handle(module_).set_attr(name, value); }

  template <auto function, class... Extra>
  void def(const char* name, Extra&&... extra) const {
    add<Fixed<function>>(make_record<Fixed<function>>(name, extra...));
  }
  template <class Lambda, class... Extra>
  void def(const char* name, Lambda, Extra&&... extra) const {
    add<Lambda>(make_record<Lambda>(name, extra...));
  }
  void add_functions(PyMethodDef* functions) const {
    if (PyModule_AddFunctions(module_, functions) < 0) throw PythonError();
  }

 private:
  template <class F>
  void add(Record& record) const {
    static PyMethodDef functions[2] = {};
    functions[0] = {record.name.c_str(), as_c_function<&call_of<F, false>>(), METH_FASTCALL | METH_KEYWORDS,
                    nullptr};
    add_functions(functions);
  }
  PyObject* module_;
};

}  // namespace headlight::python
