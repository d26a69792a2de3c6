// Values of the model API as Python sees them: texts, parts, heads, and dictionaries that results.py gives names to.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/python.h"
#include "headlight/effects.h"
#include "headlight/run.h"

namespace headlight::python {

[[nodiscard]] std::string to_text(Handle value, const char* name);  // UTF-8; lone surrogates become "?"
[[nodiscard]] Str from_text(std::string_view text);                 // invalid UTF-8 becomes U+FFFD
[[nodiscard]] std::vector<std::string> to_texts(Handle values, const char* name);
[[nodiscard]] std::vector<std::int32_t> to_ids(Handle values, const char* name);

[[nodiscard]] Part to_part(Handle value);                         // "encoder", "decoder", "cross"
[[nodiscard]] std::optional<Part> to_part_or_none(Handle value);  // None: none
[[nodiscard]] Str from_part(Part part);
[[nodiscard]] std::vector<HeadPlace> to_places(Handle values);  // [(layer, head), …]
[[nodiscard]] Change to_change(const std::string& name);
[[nodiscard]] std::vector<Range> to_ranges(Handle values, const char* name);  // [(begin, end), …]

// {"text", "target", "second", "ids", "target_ids", "type_ids", "continuation"}, each may be missing.
[[nodiscard]] Prompt to_prompt(const Dict& prompt);
[[nodiscard]] Dict from_tokenized(const TokenizedText& text);
[[nodiscard]] Tuple from_range(Range range);

// A list made by a function of each item.
template <class Items, class Function>
[[nodiscard]] List list_of(const Items& items, Function&& function) {
  List out;
  for (const auto& item : items) out.append(to_python(function(item)));
  return out;
}
template <class T>
[[nodiscard]] Object value_or_none(const std::optional<T>& value) {
  return value ? to_python(*value) : none();
}

// Python callables as hooks of a run. None: no hook. Both must outlive the run, and be destroyed with the interpreter held.
[[nodiscard]] std::unique_ptr<Observer> observer_of(const Object& hook);
[[nodiscard]] std::unique_ptr<Intervention> intervention_of(const Object& hook);

}  // namespace headlight::python
