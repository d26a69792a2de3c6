#pragma once

namespace headlight {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace headlight
