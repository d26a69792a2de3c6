// Joins texts and numbers into one string: formatting for error messages without a dependency. Streams are slow to
// compile, and after a failed allocation they continue with a truncated text.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace headlight {

void append_number(std::string& to, double x);  // six digits, as %g in the C locale
void append_number(std::string& to, long long x);
void append_number(std::string& to, unsigned long long x);

template <class Part>
void append_part(std::string& to, const Part& part) {
  if constexpr (std::is_convertible_v<const Part&, std::string_view>) {
    to += std::string_view(part);
  } else if constexpr (std::is_floating_point_v<Part>) {
    append_number(to, static_cast<double>(part));
  } else if constexpr (std::is_same_v<Part, char>) {
    to += part;
  } else {
    static_assert(std::is_integral_v<Part> && (sizeof(Part) > 1 || std::is_same_v<Part, bool>),
                  "texts, characters and numbers; of a byte, say which of them it is");
    if constexpr (std::is_unsigned_v<Part>) append_number(to, static_cast<unsigned long long>(part));
    else append_number(to, static_cast<long long>(part));
  }
}

template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::string text;
  (append_part(text, parts), ...);
  return text;
}

}  // namespace headlight
