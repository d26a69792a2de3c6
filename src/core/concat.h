// Joins anything printable into one string: enough formatting for error messages, no dependency.
#pragma once

#include <sstream>
#include <string>

namespace headlight {

template <class... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace headlight
