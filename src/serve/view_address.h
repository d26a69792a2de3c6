// A view as text, used after # in the page's address and as the argument of --at.
#pragma once

#include <optional>
#include <string>

#include "headlight/trace.h"

namespace headlight::serve {

struct ViewPlace {
  std::string model = {}, text = {}, second = {}, target = {};  // empty: the default of the server
  std::optional<Part> part = std::nullopt;
  int layer = -1, head = -1;  // -1: the page chooses
  Range queries = {};         // none: the page chooses
};

// "m=en-fr&t=The%20cat&p=cross&h=2.5&q=3"
[[nodiscard]] std::string view_address(const ViewPlace& place);

// Quoted as one word for a POSIX shell.
[[nodiscard]] std::string shell_quoted(const std::string& text);

}  // namespace headlight::serve
