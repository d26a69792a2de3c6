// "Did you mean …?": the known name with the smallest edit distance to an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headlight {

// Empty when there is none, or none that shares anything with `name`. Time is bounded: of many or long
// names only some are compared.
[[nodiscard]] std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// For words from the command line: the shortest known name that begins with `name`, or else the nearest one if it starts with
// the same letter, which is seldom mistyped.
[[nodiscard]] std::string_view nearest_typed_name(std::string_view name,
                                                  std::span<const std::string_view> known);

// no experiment "scalling"; did you mean "scaling"?   or, if none is near:   no experiment "x"; there are: a, b
[[nodiscard]] std::string unknown_name_text(std::string_view kind, std::string_view name,
                                            std::span<const std::string_view> known);

}  // namespace headlight
