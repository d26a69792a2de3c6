#pragma once

#pragma GCC visibility push(default)

namespace headlight {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace headlight

#pragma GCC visibility pop
