// Untrusted text made safe to print: file names, arguments, tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headlight {

// The bytes of the well-formed UTF-8 character that `text` starts with, 0 when it starts with none.
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

// Control characters, text-direction marks and bytes that are not UTF-8 become \n, \t or \xNN, so
// that a name can neither control a terminal nor break a line. A result longer than `limit` bytes
// loses its middle, because the start and the end of a path are the most useful parts.
[[nodiscard]] std::string escaped(std::string_view text, std::size_t limit = 160);

}  // namespace headlight
