#include "draw/qr_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "headlight/error.h"

namespace headlight::draw {
namespace {

// The worked example of ISO/IEC 18004's tutorials: HELLO WORLD as version 1, level M.
TEST(QrCode, CheckBytesOfTheStandardExample) {
  const std::vector<std::uint8_t> data = {32, 91, 11,  120, 209, 114, 220, 77,
                                          67, 64, 236, 17,  236, 17,  236, 17};
  EXPECT_EQ(qr_check_bytes(data, 10),
            (std::vector<std::uint8_t>{196, 35, 39, 119, 235, 215, 231, 226, 93, 23}));
}

// The 15 format bits beside the upper left finder pattern, and the mask that they name (level M).
int mask_of(const QrCode& code) {
  constexpr std::array<unsigned, 8> formats = {0b101010000010010, 0b101000100100101, 0b101111001111100,
                                               0b101101101001011, 0b100010111111001, 0b100000011001110,
                                               0b100111110010111, 0b100101010100000};
  unsigned bits = 0;
  for (const auto& [x, y] : {std::pair{0, 8},
                             {1, 8},
                             {2, 8},
                             {3, 8},
                             {4, 8},
                             {5, 8},
                             {7, 8},
                             {8, 8},
                             {8, 7},
                             {8, 5},
                             {8, 4},
                             {8, 3},
                             {8, 2},
                             {8, 1},
                             {8, 0}})
    bits = bits << 1 | (code.at(x, y) ? 1U : 0U);
  for (int mask = 0; mask < 8; ++mask)
    if (formats[static_cast<std::size_t>(mask)] == bits) return mask;
  ADD_FAILURE() << "the format bits name no mask of level M: " << bits;
  return 0;
}

bool is_function(const QrCode& code, int x, int y) {
  const int n = code.size, version = (n - 17) / 4;
  if (x == 6 || y == 6) return true;
  if ((x < 9 && y < 9) || (x >= n - 8 && y < 9) || (x < 9 && y >= n - 8)) return true;
  if (version >= 7 && ((x >= n - 11 && y < 6) || (y >= n - 11 && x < 6))) return true;
  constexpr std::array<int, 10> middles = {0, 0, 0, 0, 0, 0, 0, 22, 24, 26};
  std::vector<int> places;
  if (version >= 2) places = {6, n - 7};
  if (version >= 7) places.push_back(middles[static_cast<std::size_t>(version)]);
  for (const int a : places)
    for (const int b : places) {
      const bool corner = (a == 6 && b == 6) || (a == 6 && b == n - 7) || (a == n - 7 && b == 6);
      if (!corner && std::abs(x - a) <= 2 && std::abs(y - b) <= 2) return true;
    }
  return false;
}

bool hides(int mask, int i, int j) {  // row i, column j, in the standard's words
  switch (mask) {
    case 0: return (i + j) % 2 == 0;
    case 1: return i % 2 == 0;
    case 2: return j % 3 == 0;
    case 3: return (i + j) % 3 == 0;
    case 4: return (i / 2 + j / 3) % 2 == 0;
    case 5: return (i * j) % 2 + (i * j) % 3 == 0;
    case 6: return ((i * j) % 2 + (i * j) % 3) % 2 == 0;
    default: return ((i + j) % 2 + (i * j) % 3) % 2 == 0;
  }
}

// A reader of its own: bits along the columns, unmasked, blocks taken apart, check bytes computed again.
std::string read(const QrCode& code) {
  struct Shape {
    int check, blocks, bytes;
  };
  constexpr std::array<Shape, 10> shapes = {{{},
                                             {10, 1, 16},
                                             {16, 1, 28},
                                             {26, 1, 44},
                                             {18, 2, 64},
                                             {24, 2, 86},
                                             {16, 4, 108},
                                             {18, 4, 124},
                                             {22, 4, 154},
                                             {22, 5, 182}}};
  const int n = code.size, mask = mask_of(code);
  const Shape& shape = shapes[static_cast<std::size_t>((n - 17) / 4)];
  std::vector<std::uint8_t> bytes;
  int bits = 0, value = 0;
  bool up = true;
  for (int column = n - 1; column > 0; column -= 2, up = !up) {
    if (column == 6) --column;
    for (int step = 0; step < n; ++step)
      for (int side = 0; side < 2; ++side) {
        const int x = column - side, y = up ? n - 1 - step : step;
        if (is_function(code, x, y)) continue;
        value = value << 1 | (code.at(x, y) != hides(mask, y, x) ? 1 : 0);
        if (++bits % 8 == 0) {
          bytes.push_back(static_cast<std::uint8_t>(value));
          value = 0;
        }
      }
  }
  std::vector<std::vector<std::uint8_t>> blocks(static_cast<std::size_t>(shape.blocks));
  const int even = shape.bytes / shape.blocks, longer = shape.bytes % shape.blocks;
  std::size_t at = 0;
  for (int i = 0; i <= even; ++i)
    for (int b = 0; b < shape.blocks; ++b)
      if (i < even || b >= shape.blocks - longer) blocks[static_cast<std::size_t>(b)].push_back(bytes[at++]);
  std::vector<std::uint8_t> data;
  for (int b = 0; b < shape.blocks; ++b) {
    const auto& block = blocks[static_cast<std::size_t>(b)];
    const auto check = qr_check_bytes(block, shape.check);
    for (int i = 0; i < shape.check; ++i)
      EXPECT_EQ(check[static_cast<std::size_t>(i)],
                bytes[at + static_cast<std::size_t>(i * shape.blocks + b)]);
    data.insert(data.end(), block.begin(), block.end());
  }
  EXPECT_EQ(data[0] >> 4, 0b0100);
  const auto half = [&](std::size_t i) { return static_cast<char>((data[i] & 15) << 4 | data[i + 1] >> 4); };
  std::string text;
  for (std::size_t i = 0; i < static_cast<unsigned char>(half(0)); ++i) text += half(i + 1);
  return text;
}

TEST(QrCode, EveryLengthReadsBack) {
  for (std::size_t size = 0; size <= kMostQrBytes; ++size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('!' + (i * 7 + size) % 90);
    const QrCode code = qr_code(text);
    ASSERT_EQ(read(code), text) << size;
  }
}

TEST(QrCode, TheSmallestVersionThatFits) {
  EXPECT_EQ(qr_code(std::string(14, 'a')).size, 21);
  EXPECT_EQ(qr_code(std::string(15, 'a')).size, 25);
  EXPECT_EQ(qr_code(std::string(kMostQrBytes, 'a')).size, 53);
  EXPECT_THROW((void)qr_code(std::string(kMostQrBytes + 1, 'a')), Error);
}

// Version 7 says so in 18 bits: 000111110010010100 in the standard's table.
TEST(QrCode, VersionBits) {
  const QrCode code = qr_code(std::string(120, 'a'));
  ASSERT_EQ(code.size, 45);
  unsigned bits = 0;
  for (int i = 17; i >= 0; --i) bits = bits << 1 | (code.at(code.size - 11 + i % 3, i / 3) ? 1U : 0U);
  EXPECT_EQ(bits, 0b000111110010010100U);
}

TEST(QrCode, TextIsDarkOnLightWithAMargin) {
  const std::string text = qr_text(qr_code("headlight"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 13);
  EXPECT_EQ(text.find("\x1b[30;107m"), 0U);
  EXPECT_NE(text.find("█▀▀▀▀▀█"), std::string::npos);  // a finder pattern
}

}  // namespace
}  // namespace headlight::draw
