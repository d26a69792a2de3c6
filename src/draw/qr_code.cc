#include "draw/qr_code.h"

#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Level M: total bytes of a code, check bytes per block, blocks, and positions of alignment patterns.
struct Version {
  int bytes, check, blocks;
  std::array<int, 3> alignment;  // 0: none
};
constexpr std::array<Version, 9> kVersions = {{{26, 10, 1, {}},
                                               {44, 16, 1, {6, 18}},
                                               {70, 26, 1, {6, 22}},
                                               {100, 18, 2, {6, 26}},
                                               {134, 24, 2, {6, 30}},
                                               {172, 16, 4, {6, 34}},
                                               {196, 18, 4, {6, 22, 38}},
                                               {242, 22, 4, {6, 24, 42}},
                                               {292, 22, 5, {6, 26, 46}}}};
constexpr int data_bytes(const Version& v) { return v.bytes - v.check * v.blocks; }

std::uint8_t product(std::uint8_t a, std::uint8_t b) {  // in GF(256) modulo x^8 + x^4 + x^3 + x^2 + 1
  unsigned out = 0;
  for (int i = 7; i >= 0; --i) {
    out = out << 1 ^ (out >> 7) * 0x11DU;
    out ^= (b >> i & 1U) * a;
  }
  return static_cast<std::uint8_t>(out);
}

// Mode, length and text, padded to the version's size.
Bytes data_of(std::string_view text, const Version& version) {
  Bytes out;
  unsigned pending = 0b0100, bits = 4;  // bytes follow
  const auto put = [&](unsigned byte) {
    pending = pending << 8 | byte;
    out.push_back(static_cast<std::uint8_t>(pending >> bits));
    pending &= (1U << bits) - 1;
  };
  put(static_cast<unsigned>(text.size()));
  for (const char c : text) put(static_cast<unsigned char>(c));
  out.push_back(static_cast<std::uint8_t>(pending << 4));  // the end: four zeros
  for (std::uint8_t fill = 0xEC; static_cast<int>(out.size()) < data_bytes(version); fill ^= 0xEC ^ 0x11)
    out.push_back(fill);
  return out;
}

// Blocks with their check bytes, interleaved: the first byte of each, the second of each, …
Bytes interleaved(const Bytes& data, const Version& v) {
  std::vector<Bytes> blocks, checks;
  const int least = data_bytes(v) / v.blocks, longer = data_bytes(v) % v.blocks;
  for (int i = 0, at = 0; i < v.blocks; ++i) {
    const int size = least + (i >= v.blocks - longer ? 1 : 0);
    blocks.emplace_back(data.begin() + at, data.begin() + at + size);
    checks.push_back(qr_check_bytes(blocks.back(), v.check));
    at += size;
  }
  Bytes out;
  for (const auto* list : {&blocks, &checks})
    for (std::size_t i = 0; i < list->back().size(); ++i)
      for (const Bytes& block : *list)
        if (i < block.size()) out.push_back(block[i]);
  return out;
}

// `bits` of data followed by the remainder of dividing them by a generator of degree `degree`.
unsigned with_remainder(unsigned data, int degree, unsigned generator) {
  unsigned rest = data;
  for (int i = 0; i < degree; ++i) rest = rest << 1 ^ (rest >> (degree - 1)) * generator;
  return data << degree | (rest & ((1U << degree) - 1));
}

bool masked(int mask, int x, int y) {
  switch (mask) {
    case 0: return (x + y) % 2 == 0;
    case 1: return y % 2 == 0;
    case 2: return x % 3 == 0;
    case 3: return (x + y) % 3 == 0;
    case 4: return (x / 3 + y / 2) % 2 == 0;
    case 5: return x * y % 2 + x * y % 3 == 0;
    case 6: return (x * y % 2 + x * y % 3) % 2 == 0;
    default: return ((x + y) % 2 + x * y % 3) % 2 == 0;
  }
}

class Drawing {
 public:
  explicit Drawing(int number) : number_(number) {
    code_.size = 17 + 4 * number;
    code_.modules.assign(static_cast<std::size_t>(code_.size * code_.size), 0);
    fixed_ = code_.modules;
    draw_patterns();
  }

  void place(const Bytes& bytes) {
    std::size_t bit = 0;
    for (int right = code_.size - 1; right >= 1; right -= 2) {
      if (right == 6) right = 5;  // the timing pattern's column is left out
      const bool up = ((right + 1) & 2) == 0;
      for (int step = 0; step < code_.size; ++step)
        for (const int x : {right, right - 1}) {
          const int y = up ? code_.size - 1 - step : step;
          if (fixed_[index(x, y)] != 0 || bit >= 8 * bytes.size()) continue;
          code_.modules[index(x, y)] = bytes[bit / 8] >> (7 - bit % 8) & 1;
          ++bit;
        }
    }
  }

  [[nodiscard]] QrCode with_mask(int mask) const {
    Drawing out = *this;
    for (int y = 0; y < code_.size; ++y)
      for (int x = 0; x < code_.size; ++x)
        if (fixed_[index(x, y)] == 0 && masked(mask, x, y)) out.code_.modules[index(x, y)] ^= 1U;
    out.draw_format(mask);
    return std::move(out.code_);
  }

 private:
  [[nodiscard]] std::size_t index(int x, int y) const { return static_cast<std::size_t>(y * code_.size + x); }
  void set(int x, int y, bool black) {
    code_.modules[index(x, y)] = black ? 1 : 0;
    fixed_[index(x, y)] = 1;
  }

  void draw_patterns() {
    const int size = code_.size;
    for (int i = 0; i < size; ++i) {
      set(6, i, i % 2 == 0);
      set(i, 6, i % 2 == 0);
    }
    for (const auto& [x, y] : {std::pair{3, 3}, {size - 4, 3}, {3, size - 4}}) draw_rings(x, y, 4);
    const auto& places = kVersions[static_cast<std::size_t>(number_ - 1)].alignment;
    const int last = places[2] != 0 ? 2 : 1;
    for (int i = 0; i <= last && number_ > 1; ++i)
      for (int j = 0; j <= last; ++j) {
        const bool corner = (i == 0 && j == 0) || (i == 0 && j == last) || (i == last && j == 0);
        if (!corner) draw_rings(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(j)], 2);
      }
    draw_format(0);
    if (number_ < 7) return;
    const unsigned bits = with_remainder(static_cast<unsigned>(number_), 12, 0x1F25);
    for (int i = 0; i < 18; ++i) {
      set(size - 11 + i % 3, i / 3, (bits >> i & 1) != 0);
      set(i / 3, size - 11 + i % 3, (bits >> i & 1) != 0);
    }
  }

  // Squares within squares; finder patterns (radius 4) end with a light one.
  void draw_rings(int x, int y, int radius) {
    for (int dy = -radius; dy <= radius; ++dy)
      for (int dx = -radius; dx <= radius; ++dx) {
        const int ring = std::max(std::abs(dx), std::abs(dy));
        if (x + dx < 0 || y + dy < 0 || x + dx >= code_.size || y + dy >= code_.size) continue;
        set(x + dx, y + dy, radius == 4 ? ring != 2 && ring != 4 : ring != 1);
      }
  }

  // Level M is 00, so only the mask's number has to be encoded.
  void draw_format(int mask) {
    const unsigned bits = with_remainder(static_cast<unsigned>(mask), 10, 0x537) ^ 0x5412;
    const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
    const int size = code_.size;
    for (int i = 0; i < 6; ++i) set(8, i, bit(i));
    set(8, 7, bit(6));
    set(8, 8, bit(7));
    set(7, 8, bit(8));
    for (int i = 9; i < 15; ++i) set(14 - i, 8, bit(i));
    for (int i = 0; i < 8; ++i) set(size - 1 - i, 8, bit(i));
    for (int i = 8; i < 15; ++i) set(8, size - 15 + i, bit(i));
    set(8, size - 8, true);
  }

  int number_;
  QrCode code_;
  Bytes fixed_;
};

// Penalty for long runs, squares, patterns like the finder pattern, and an uneven share of black, which are hard to read.
int penalty(const QrCode& code) {
  int sum = 0, black = 0;
  for (const bool across : {true, false}) {
    for (int line = 0; line < code.size; ++line) {
      const auto at = [&](int i) { return across ? code.at(i, line) : code.at(line, i); };
      for (int i = 0, run = 0; i < code.size; ++i) {
        run = i > 0 && at(i) == at(i - 1) ? run + 1 : 1;
        if (run == 5) sum += 3;
        if (run > 5) ++sum;
      }
      unsigned seen = 0;  // the last eleven modules; outside all is light
      for (int i = -4; i < code.size + 4; ++i) {
        seen = (seen << 1 | (at(i) ? 1U : 0U)) & 0x7FF;
        if (i >= 6 && (seen == 0b10111010000 || seen == 0b00001011101)) sum += 40;
      }
    }
  }
  for (int y = 0; y < code.size; ++y)
    for (int x = 0; x < code.size; ++x) {
      black += code.at(x, y) ? 1 : 0;
      if (x + 1 < code.size && y + 1 < code.size && code.at(x, y) == code.at(x + 1, y) &&
          code.at(x, y) == code.at(x, y + 1) && code.at(x, y) == code.at(x + 1, y + 1))
        sum += 3;
    }
  return sum + std::abs(20 * black - 10 * code.size * code.size) / (code.size * code.size) * 10;
}

}  // namespace

std::vector<std::uint8_t> qr_check_bytes(std::span<const std::uint8_t> data, int count) {
  const auto size = static_cast<std::size_t>(count);
  Bytes divisor(size, 0);  // the product of (x - 2^i), without its leading 1
  divisor.back() = 1;
  std::uint8_t root = 1;
  for (int i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < size; ++j)
      divisor[j] = static_cast<std::uint8_t>(product(divisor[j], root) ^ (j + 1 < size ? divisor[j + 1] : 0));
    root = product(root, 2);
  }
  Bytes rest(size, 0);
  for (const std::uint8_t byte : data) {
    const auto factor = static_cast<std::uint8_t>(byte ^ rest.front());
    rest.erase(rest.begin());
    rest.push_back(0);
    for (std::size_t j = 0; j < size; ++j) rest[j] ^= product(divisor[j], factor);
  }
  return rest;
}

QrCode qr_code(std::string_view text) {
  if (text.size() > kMostQrBytes)
    throw Error(ErrorKind::usage, "draw.qr",
                concat("a QR code of ", text.size(), " bytes; at most ", kMostQrBytes, " are supported"));
  int number = 1;
  while (data_bytes(kVersions[static_cast<std::size_t>(number - 1)]) < static_cast<int>(text.size()) + 2)
    ++number;
  const Version& version = kVersions[static_cast<std::size_t>(number - 1)];
  Drawing drawing(number);
  drawing.place(interleaved(data_of(text, version), version));
  std::optional<QrCode> best;
  int least = std::numeric_limits<int>::max();
  for (int mask = 0; mask < 8; ++mask) {
    QrCode code = drawing.with_mask(mask);
    const int one = penalty(code);
    if (one < least) {
      least = one;
      best = std::move(code);
    }
  }
  return std::move(*best);
}

std::string qr_text(const QrCode& code) {
  constexpr int margin = 2;
  std::string out;
  for (int y = -margin; y < code.size + margin; y += 2) {
    out += "\x1b[30;107m";  // black on bright white
    for (int x = -margin; x < code.size + margin; ++x) {
      const bool upper = code.at(x, y), lower = code.at(x, y + 1);
      out += upper && lower ? "█" : upper ? "▀" : lower ? "▄" : " ";
    }
    out += "\x1b[0m\n";
  }
  return out;
}

}  // namespace headlight::draw
