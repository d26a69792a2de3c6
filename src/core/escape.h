// Text that came from outside, made safe to print: names of files, arguments, tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headlight {

// The bytes of the well-formed UTF-8 character that `text` starts with, 0 when it starts with none.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

// Control characters, text-direction marks and bytes that are not UTF-8 become \n, \t or \xNN, so
// that a name can neither steer a terminal nor break a message in two. A result longer than `limit`
// bytes loses its middle: the start and the end of a path say most.
[[nodiscard]] std::string escaped(std::string_view text, std::size_t limit = 160);

}  // namespace headlight
