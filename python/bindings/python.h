// What every file of the bindings shares: classes and functions of Python, and values that are read from Python with
// the library's own errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/classes.h"
#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/progress.h"
#include "headlight/tensor.h"

namespace headlight::python {

// headlight.Error with .kind and .code, which raise_current() makes of the library's exceptions.
void define_error(const Module& module);

// The calling thread's Context. 0: all cores.
[[nodiscard]] Context& context_for(Index threads);
[[nodiscard]] Context& context_for(Handle threads);  // None: all cores

// Numbers and booleans from Python. Each throws Error{usage} that names the argument and what was found.
[[nodiscard]] Index to_index(Handle value, const char* name);
[[nodiscard]] double to_number(Handle value, const char* name);
[[nodiscard]] bool to_switch(Handle value, const char* name);
[[nodiscard]] std::vector<Index> to_indices(Handle values, const char* name);  // None: none
// None, a slice with step 1, or a pair (begin, end). Negative ends of a slice count from the end.
[[nodiscard]] std::pair<Index, Index> to_range(Handle value, Index size, const char* name);
[[nodiscard]] std::string repr_of(Handle value);  // short, for messages

// Ctrl-C ends the call; `report` (a callable or None) is called with (what, done, total).
[[nodiscard]] Progress progress_of(const Object& report);

void define_attention(const Module& module);
void define_dlpack(const Module& module);
void define_kv_cache(const Module& module);
void define_model(const Module& module);
void define_run(const Module& module);
void define_events(const Module& module);
void define_questions(const Module& module);
void define_changes(const Module& module);
void define_writing(const Module& module);
void define_pictures(const Module& module);

}  // namespace headlight::python
