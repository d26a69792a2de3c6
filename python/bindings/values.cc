// Numbers, ranges, contexts and progress: arguments of calls other than arrays.
#include <algorithm>
#include <map>
#include <memory>

#include "bindings/python.h"
#include "core/concat.h"

namespace headlight::python {
namespace {

[[noreturn]] void refuse(const char* name, Handle value, const char* need) {
  PyErr_Clear();
  throw Error(ErrorKind::usage, "python.argument", concat(name, " is ", repr_of(value), "; need ", need));
}

}  // namespace

std::string repr_of(Handle value) {
  constexpr std::size_t most = 60;
  const Object text = Object::taken_or_empty(PyObject_Repr(value.ptr()));
  if (!text) {
    PyErr_Clear();
    return concat("a ", type_name(value));
  }
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), nullptr);
  if (bytes == nullptr) {
    PyErr_Clear();
    return concat("a ", type_name(value));
  }
  std::string out(bytes);
  if (out.size() > most || out.find('\n') != std::string::npos) return concat("a ", type_name(value));
  return out;
}

Index to_index(Handle value, const char* name) {
  const Object number = Object::taken_or_empty(PyNumber_Index(value.ptr()));
  if (!number) refuse(name, value, "an integer");
  const long long result = PyLong_AsLongLong(number.ptr());
  if (result == -1 && PyErr_Occurred() != nullptr) refuse(name, value, "an integer of at most 63 bits");
  return result;
}

double to_number(Handle value, const char* name) {
  const double result = PyFloat_AsDouble(value.ptr());
  if (result == -1 && PyErr_Occurred() != nullptr) refuse(name, value, "a number");
  return result;
}

bool to_switch(Handle value, const char* name) {
  if (value.ptr() == Py_True) return true;
  if (value.ptr() == Py_False || value.is_none()) return false;
  const int result = PyObject_IsTrue(value.ptr());
  if (result < 0) refuse(name, value, "True or False");
  return result != 0;
}

std::vector<Index> to_indices(Handle values, const char* name) {
  std::vector<Index> out;
  if (values.is_none()) return out;
  const bool is_list = PyList_Check(values.ptr()) || PyTuple_Check(values.ptr());
  const Object list =
      is_list ? Object::borrowed(values) : Object::taken_or_empty(PySequence_List(values.ptr()));
  if (!list) refuse(name, values, "a sequence of integers");
  // The size is asked each time: converting a number may run Python code, which may change the list.
  for (Py_ssize_t i = 0; i < PySequence_Size(list.ptr()); ++i)
    out.push_back(to_index(Object::taken(PySequence_GetItem(list.ptr(), i)), name));
  return out;
}

std::pair<Index, Index> to_range(Handle value, Index size, const char* name) {
  if (value.is_none()) return {0, size};
  constexpr const char* need = "a slice with step 1 or a pair (begin, end)";
  if (PySlice_Check(value.ptr())) {
    Py_ssize_t begin = 0, end = 0, step = 1;
    if (PySlice_Unpack(value.ptr(), &begin, &end, &step) < 0 || step != 1) refuse(name, value, need);
    PySlice_AdjustIndices(size, &begin, &end, step);
    return {begin, end < begin ? begin : end};
  }
  const std::vector<Index> ends =
      PySequence_Check(value.ptr()) != 0 ? to_indices(value, name) : std::vector<Index>();
  if (ends.size() != 2) refuse(name, value, need);
  if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > size)
    throw Error(ErrorKind::usage, "python.range",
                concat(name, " are ", ends[0], " to ", ends[1], "; need a part of 0 to ", size));
  return {ends[0], ends[1]};
}

Context& context_for(Index threads) {
  if (threads == 0) return default_context();
  // One Context per number of threads, because each keeps its pool.
  thread_local std::map<Index, std::unique_ptr<Context>> contexts;
  constexpr Index most = 1 << 20;  // Context reports its own limits
  std::unique_ptr<Context>& context = contexts[threads];
  if (!context) {
    try {
      context = std::make_unique<Context>(
          ContextOptions{.threads = static_cast<int>(std::clamp<Index>(threads, -1, most))});
    } catch (...) {
      contexts.erase(threads);
      throw;
    }
  }
  return *context;
}

Context& context_for(Handle threads) {
  if (threads.is_none()) return default_context();
  const Index count = to_index(threads, "threads");
  if (count < 1)
    throw Error(ErrorKind::usage, "python.threads",
                concat("threads is ", count, "; need 1 or more, or None for all cores"));
  return context_for(count);
}

Progress progress_of(const Object& given) {
  Object report = given;
  // True: a bar of tqdm, or None where that is not installed.
  if (report.ptr() == Py_True) report = import("headlight.notebook").attr("progress_bar")();
  Progress progress;
  progress.cancelled = [] {
    const HoldLock hold;
    if (PyErr_CheckSignals() != 0) throw PythonError();
    return false;
  };
  if (report.is_none() || report.ptr() == Py_False) return progress;
  if (PyCallable_Check(report.ptr()) == 0)
    throw Error(ErrorKind::usage, "python.progress",
                concat("progress is ", repr_of(report),
                       "; need True for a bar of tqdm, or a function of (what, done, total)"));
  // Its last reference may be released while the call does not hold the interpreter's lock.
  const std::shared_ptr<Object> kept(new Object(report), [](Object* object) {
    const HoldLock hold;
    delete object;
  });
  progress.report = [kept](const ProgressStep& step) {
    const HoldLock hold;
    (*kept)(step.what, step.done, step.total);
  };
  return progress;
}

}  // namespace headlight::python
