#pragma once

#pragma GCC visibility push(default)

namespace headlight {

inline constexpr const char* kVersion = "0.2.0";

}  // namespace headlight

#pragma GCC visibility pop
