// Values between C++ and Python: results of functions, and their arguments.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings/objects.h"
#include "headlight/tensor.h"

namespace headlight::python {

// Objects of a C++ class that Python owns (classes.h defines the types).
struct Instance {
  PyObject head;
  void* value;  // null before __init__
};
template <class T>
struct Registered {
  static inline PyTypeObject* type = nullptr;
};
[[nodiscard]] PyObject* new_instance(PyTypeObject* type);  // without a value; throws PythonError
// The C++ part. Throws TypeError for objects of other types, Error{usage} before __init__.
[[nodiscard]] void* value_of(Handle object, PyTypeObject* type);

template <class T>
[[nodiscard]] T& value_of(Handle object) {
  return *static_cast<T*>(value_of(object, Registered<T>::type));
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
concept Sequence = requires(const T& items) {
  items.begin();
  items.end();
  items.size();
};

template <class T>
[[nodiscard]] Object to_python(T&& value) {
  using Value = std::decay_t<T>;
  if constexpr (std::is_base_of_v<Object, Value>) {
    return Object(std::forward<T>(value));
  } else if constexpr (std::is_base_of_v<Handle, Value>) {
    return Object::borrowed(value);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return Object::borrowed(value ? Py_True : Py_False);
  } else if constexpr (std::is_integral_v<Value> && std::is_signed_v<Value>) {
    return Object::taken(PyLong_FromLongLong(value));
  } else if constexpr (std::is_integral_v<Value>) {
    return Object::taken(PyLong_FromUnsignedLongLong(value));
  } else if constexpr (std::is_floating_point_v<Value>) {
    return Object::taken(PyFloat_FromDouble(static_cast<double>(value)));
  } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return Str(value);
  } else if constexpr (is_optional<Value>) {
    return value ? to_python(*std::forward<T>(value)) : none();
  } else if constexpr (Sequence<Value>) {
    List out;
    for (const auto& item : value) out.append(to_python(item));
    return Object(std::move(out));
  } else {
    Object object = Object::taken(new_instance(Registered<Value>::type));
    reinterpret_cast<Instance*>(object.ptr())->value = new Value(std::forward<T>(value));
    return object;
  }
}

template <class... Values>
[[nodiscard]] Tuple tuple_of(Values&&... values) {
  return Tuple({to_python(std::forward<Values>(values))...});
}

template <class... Arguments>
Object Handle::operator()(Arguments&&... arguments) const {
  const Tuple all = tuple_of(std::forward<Arguments>(arguments)...);
  return Object::taken(PyObject_Call(object_, all.ptr(), nullptr));
}

template <class Value>
void Dict::Entry::operator=(Value&& value) {
  dict_.set(Str(key_), to_python(std::forward<Value>(value)));
}

// Arguments of functions. Each throws TypeError that names the argument and what was found.
[[nodiscard]] long long integer_argument(Handle value, const char* name, long long least, long long most);
[[nodiscard]] double number_argument(Handle value, const char* name);
[[nodiscard]] bool switch_argument(Handle value, const char* name);
[[nodiscard]] std::string text_argument(Handle value, const char* name);
[[nodiscard]] std::vector<std::string> texts_argument(Handle value, const char* name);
void check_argument(bool good, Handle value, const char* name, const char* wanted);

// What a parameter of type P gets: values as they are, objects of registered classes by reference.
template <class P>
[[nodiscard]] decltype(auto) from_python(Handle value, const char* name) {
  using Value = std::decay_t<P>;
  if constexpr (std::is_same_v<Value, Object>) {
    return Object::borrowed(value);
  } else if constexpr (std::is_same_v<Value, Tuple>) {
    check_argument(PyTuple_Check(value.ptr()), value, name, "a tuple");
    return Tuple(value);
  } else if constexpr (std::is_same_v<Value, List>) {
    check_argument(PyList_Check(value.ptr()), value, name, "a list");
    return List(value);
  } else if constexpr (std::is_same_v<Value, Dict>) {
    check_argument(PyDict_Check(value.ptr()), value, name, "a dict");
    return Dict(value);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return switch_argument(value, name);
  } else if constexpr (std::is_integral_v<Value>) {
    constexpr auto most = sizeof(Value) < sizeof(long long) ? std::numeric_limits<Value>::max()
                                                            : std::numeric_limits<long long>::max();
    constexpr auto least =
        std::is_signed_v<Value> ? static_cast<long long>(std::numeric_limits<Value>::min()) : 0;
    return static_cast<Value>(integer_argument(value, name, least, most));
  } else if constexpr (std::is_floating_point_v<Value>) {
    return number_argument(value, name);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return text_argument(value, name);
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    return texts_argument(value, name);
  } else {
    return value_of<Value>(value);  // a reference: the caller's arguments keep the object
  }
}

}  // namespace headlight::python
