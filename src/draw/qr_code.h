// QR codes (ISO/IEC 18004): a link for phones, drawn with blocks in a terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::draw {

// Black modules of a square; error correction level M, at most version 9.
struct QrCode {
  int size = 0;
  std::vector<std::uint8_t> modules;  // [size, size], 1 is black

  [[nodiscard]] bool at(int x, int y) const {
    return x >= 0 && y >= 0 && x < size && y < size && modules[static_cast<std::size_t>(y * size + x)] != 0;
  }
};

inline constexpr std::size_t kMostQrBytes = 180;
// Throws Error{usage} for a longer text.
[[nodiscard]] QrCode qr_code(std::string_view text);

// Two rows of modules in each line, with a light margin of two modules. The colours are set line by line, so that the
// code is dark on light in every terminal.
[[nodiscard]] std::string qr_text(const QrCode& code);

// The check bytes of a block (Reed-Solomon over GF(256)).
[[nodiscard]] std::vector<std::uint8_t> qr_check_bytes(std::span<const std::uint8_t> data, int count);

}  // namespace headlight::draw
