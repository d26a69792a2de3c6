// Shared by all functions of the C interface: catches exceptions, reads structures of other sizes, checks tensors.
#pragma once

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "core/concat.h"
#include "headlight/c/headlight.h"
#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/kv_cache.h"
#include "headlight/run.h"

struct headlight_context {
  explicit headlight_context(int threads) : context({.threads = threads}) {}
  headlight::Context context;
};
struct headlight_cache {
  headlight::KvCache cache;
};
struct headlight_model {
  headlight::Model model;
};
struct headlight_run {
  headlight::Run run;
};

namespace headlight::c {

void keep_error(const char* code, const char* text) noexcept;
[[nodiscard]] headlight_status status_of(ErrorKind kind) noexcept;

// Runs the function; an exception becomes a status, and its text is kept for headlight_error_text().
template <class Function>
[[nodiscard]] headlight_status guarded(Function&& function) noexcept {
  try {
    function();
    return HEADLIGHT_OK;
  } catch (const Error& error) {
    keep_error(error.code().c_str(), error.what());
    return status_of(error.kind());
  } catch (const std::bad_alloc&) {
    keep_error("c.memory", "no memory is left");
    return HEADLIGHT_RESOURCE;
  } catch (const std::exception& error) {
    keep_error("c.internal", error.what());
    return HEADLIGHT_INTERNAL;
  } catch (...) {
    keep_error("c.internal", "an unknown exception");
    return HEADLIGHT_INTERNAL;
  }
}

// The object behind a pointer that must not be null.
template <class T>
[[nodiscard]] T& given(T* pointer, const char* name) {
  if (pointer != nullptr) return *pointer;
  throw Error(ErrorKind::usage, "c.null", concat(name, " is NULL"));
}

[[nodiscard]] inline Context& context_of(headlight_context* context) {
  return context != nullptr ? context->context : default_context();
}

// Copies the members of the caller's structure over the defaults. A larger structure is from a later version: members that
// this version does not know must be zero, because ignoring them would give wrong results silently.
template <class T>
void read_sized(const T* from, T& to, const char* name) {
  const std::size_t size = given(from, name).size;
  if (size < sizeof size)
    throw Error(ErrorKind::usage, "c.size",
                concat(name, " has size ", size, "; set size to sizeof the structure"));
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      throw Error(ErrorKind::usage, "c.size",
                  concat(name, " has members that this version of the library does not know"));
  std::memcpy(&to, from, size < sizeof(T) ? size : sizeof(T));
}

[[nodiscard]] TensorView view_of(const headlight_tensor& tensor, const char* name);
[[nodiscard]] inline TensorView view_of(const headlight_tensor* tensor, const char* name) {
  return view_of(given(tensor, name), name);
}
[[nodiscard]] Part part_of(std::int32_t part);
// A span of `count` elements; NULL only when there are none.
template <class T>
[[nodiscard]] std::span<const T> span_of(const T* data, std::size_t count, const char* name) {
  if (data == nullptr && count > 0) throw Error(ErrorKind::usage, "c.null", concat(name, " is NULL"));
  return {data, data == nullptr ? 0 : count};
}

[[nodiscard]] AttentionOptions options_of(const headlight_attention_options* options);
[[nodiscard]] AttentionOutputs outputs_of(const headlight_attention_outputs* outputs);

}  // namespace headlight::c
