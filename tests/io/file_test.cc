#include "io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "core/escape.h"
#include "headlight/error.h"
#include "io/outputs.h"
#include "support/temp_folder.h"

namespace headlight::io {
namespace {

using ::testing::HasSubstr;
using testing::TempFolder;

template <class Body>
Error refused(const Body& body) {
  try {
    body();
  } catch (const Error& error) { return error; }
  return {ErrorKind::peer, "none", "accepted"};
}

void put(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
std::string get(const std::string& path) {
  const auto bytes = read_file(path, 1000);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(File, ReadsRegularFilesOnly) {
  const TempFolder folder;
  put(folder.path("a"), "hello");
  EXPECT_EQ(get(folder.path("a")), "hello");
  EXPECT_EQ(refused([&] { (void)read_file(folder.path("a"), 4); }).kind(), ErrorKind::input);

  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);  // must not wait for a writer
  EXPECT_THAT(refused([&] { (void)File(folder.path("pipe")); }).what(), HasSubstr("pipe or device"));
  EXPECT_THAT(refused([&] { (void)File(folder.root().string()); }).what(), HasSubstr("is a folder"));
  EXPECT_THAT(refused([&] { (void)File("/dev/zero"); }).what(), HasSubstr("pipe or device"));
  const Error missing = refused([&] { (void)File(folder.path("no\nsuch")); });
  EXPECT_EQ(missing.kind(), ErrorKind::file);
  EXPECT_THAT(missing.what(), HasSubstr("no\\nsuch: No such file or directory (cannot open)"));
}

TEST(File, NoticesThatAFileShrinks) {
  const TempFolder folder;
  put(folder.path("a"), "hello");
  const File file(folder.path("a"));
  ASSERT_EQ(::truncate(folder.path("a").c_str(), 2), 0);
  std::vector<std::byte> all(5);
  EXPECT_THAT(refused([&] { file.read(0, all); }).what(), HasSubstr("was truncated"));
}

TEST(Outputs, AllOrNothing) {
  const TempFolder folder;
  {
    Outputs outputs(Existing::refuse);
    outputs.reserve(folder.path("a"));
    outputs.reserve(folder.path("b"));
    outputs.write(folder.path("a"), bytes("one"));
    outputs.write(folder.path("a"), bytes("two"));
  }
  EXPECT_EQ(folder.entries(), 0);
  Outputs outputs(Existing::refuse);
  outputs.reserve(folder.path("a"));
  outputs.reserve(folder.path("b"));
  outputs.write(folder.path("a"), bytes("one"));
  outputs.write(folder.path("a"), bytes("two"));
  outputs.commit();
  EXPECT_EQ(folder.entries(), 2);
  EXPECT_EQ(get(folder.path("a")), "onetwo");
}

TEST(Outputs, RefusesBeforeTheWork) {
  const TempFolder folder;
  put(folder.path("old"), "old");
  std::filesystem::create_symlink("nowhere", folder.path("link"));
  Outputs outputs(Existing::refuse);
  outputs.reserve(folder.path("new"));
  struct Case {
    std::string path, says;
  };
  for (const Case& c :
       {Case{folder.path("old"), "exists already; --force"}, Case{folder.path("link"), "exists already"},
        Case{folder.root().string(), "is a folder"}, Case{folder.root().string() + "/", "is a folder"},
        Case{folder.path("no/such"), "No such file"}, Case{folder.path("old/x"), "Not a directory"},
        Case{"/dev/full", "pipe or device"}, Case{folder.path(std::string(300, 'x')), "too long"},
        Case{folder.root().string() + "/./new", "two results"}}) {
    EXPECT_THAT(refused([&] { outputs.reserve(c.path); }).what(), HasSubstr(c.says)) << c.path;
  }
  EXPECT_EQ(get(folder.path("old")), "old");
}

TEST(Outputs, ReplacesOnlyWhenToldAndOnlyAtTheEnd) {
  const TempFolder folder;
  put(folder.path("old"), "old");
  Outputs outputs(Existing::replace);
  outputs.reserve(folder.path("old"));
  outputs.write(folder.path("old"), bytes("new"));
  EXPECT_EQ(get(folder.path("old")), "old");
  outputs.commit();
  EXPECT_EQ(get(folder.path("old")), "new");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(Outputs, AFileThatAppearsMeanwhileSurvives) {
  const TempFolder folder;
  Outputs outputs(Existing::refuse);
  outputs.reserve(folder.path("a"));
  outputs.reserve(folder.path("b"));
  put(folder.path("b"), "theirs");
  EXPECT_EQ(refused([&] { outputs.commit(); }).kind(), ErrorKind::file);
  EXPECT_EQ(get(folder.path("b")), "theirs");
  EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
}

TEST(Escape, NothingSteersTheTerminal) {
  EXPECT_EQ(escaped("plain ünïcode 猫"), "plain ünïcode 猫");
  EXPECT_EQ(escaped("a\nb\tc\x1b[31m\x7f"), "a\\nb\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  EXPECT_EQ(escaped("\u202e"), "\\xe2\\x80\\xae");
  EXPECT_EQ(escaped("\u0085"), "\\xc2\\x85");
  EXPECT_EQ(escaped(std::string("\0x", 2)), "\\x00x");
  for (const std::size_t limit : {0U, 3U, 20U, 160U})
    EXPECT_LE(escaped(std::string(100000, 'x'), limit).size(), std::max<std::size_t>(limit, 3));
  EXPECT_EQ(escaped(std::string(40, 'a') + std::string(40, 'b'), 11), "aaaa…bbbb");
}

}  // namespace
}  // namespace headlight::io
