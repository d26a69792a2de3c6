#include "serve/base64.h"

#include <cstddef>

namespace headlight::serve {

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t n) -> unsigned {
      return i + n < bytes.size() ? static_cast<unsigned char>(bytes[i + n]) : 0U;
    };
    const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += letters[group >> 18];
    out += letters[group >> 12 & 63];
    out += i + 1 < bytes.size() ? letters[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? letters[group & 63] : '=';
  }
  return out;
}

}  // namespace headlight::serve
