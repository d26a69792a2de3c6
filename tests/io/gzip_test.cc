#include "io/gzip.h"

#include <gtest/gtest.h>

#include <fstream>

#include "headlight/error.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::io {
namespace {

using testing::expect_error;

// "headlight\n" compressed by gzip.
constexpr unsigned char kGzip[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
                                   0xcb, 0x48, 0x4d, 0x4c, 0xc9, 0xc9, 0x4c, 0xcf, 0x28, 0xe1,
                                   0x02, 0x00, 0x19, 0xfa, 0x51, 0xf4, 0x0a, 0x00, 0x00, 0x00};
const std::string kCompressed(reinterpret_cast<const char*>(kGzip), sizeof kGzip);

std::string unpacked(const std::string& bytes, std::uint64_t limit = 1000) {
  return gunzip(std::as_bytes(std::span(bytes)), limit, "x.gz");
}

TEST(Gzip, ReadsPlainAndCompressed) {
  const testing::TempFolder folder;
  std::ofstream(folder.path("plain.gz")) << "as it is";  // the name decides nothing
  std::ofstream(folder.path("packed.txt"), std::ios::binary) << kCompressed << kCompressed;
  std::ofstream(folder.path("empty.txt"));
  EXPECT_EQ(read_text(folder.path("plain.gz")), "as it is");
  EXPECT_EQ(read_text(folder.path("packed.txt")), "headlight\nheadlight\n");
  EXPECT_EQ(read_text(folder.path("empty.txt")), "");
}

TEST(Gzip, RefusesDamage) {
  for (std::size_t cut = 0; cut < kCompressed.size(); ++cut)
    EXPECT_THROW((void)unpacked(kCompressed.substr(0, cut)), Error) << cut;
  for (std::size_t at = 10; at < kCompressed.size(); ++at) {
    std::string bytes = kCompressed;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    EXPECT_THROW((void)unpacked(bytes), Error) << at;
  }
  expect_error([] { (void)unpacked(kCompressed + "tail"); }, ErrorKind::input, "gzip.form",
               "x.gz: the compressed file is damaged");
  expect_error([] { (void)unpacked(kCompressed.substr(0, 20)); }, ErrorKind::input, "gzip.form", "cut off");
}

TEST(Gzip, StopsAtTheLimit) {
  EXPECT_EQ(unpacked(kCompressed, 10), "headlight\n");
  expect_error([] { (void)unpacked(kCompressed, 9); }, ErrorKind::input, "gzip.form", "more than 9 bytes");
}

}  // namespace
}  // namespace headlight::io
