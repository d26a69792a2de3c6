#include "io/folder_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "headlight/error.h"
#include "io/gzip.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace headlight::io {
namespace {

using testing::TempFolder;

void put(FolderWriter& writer, const std::string& file, std::string_view text) {
  writer.begin(file);
  writer.write(text);
  writer.end();
}

TEST(FolderWriter, AppearsWholeAndReplacesWhole) {
  const TempFolder folder;
  {
    FolderWriter writer(folder.root(), "out");
    put(writer, "a", "one");
    put(writer, "b", "two");
    EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
    writer.commit();
  }
  EXPECT_EQ(read_text(folder.path("out/b")), "two");
  {
    FolderWriter writer(folder.root(), "out");
    put(writer, "a", "three");
    EXPECT_EQ(read_text(folder.path("out/a")), "one");
    writer.commit();
  }
  EXPECT_EQ(read_text(folder.path("out/a")), "three");
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/b")));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(FolderWriter, LeavesNothingUncommitted) {
  const TempFolder folder;
  {
    FolderWriter writer(folder.root(), "out");
    writer.begin("a");
    writer.write("half");
  }
  EXPECT_EQ(folder.entries(), 0);
}

TEST(FolderWriter, RemovesWhatOthersLeft) {
  const TempFolder folder;
  for (const char* name : {".part-1-0", ".trash-7-1", "step-1", "other"}) {
    std::filesystem::create_directory(folder.path(name));
    std::ofstream(folder.path(std::string(name) + "/x")) << "x";
  }
  remove_leftovers(folder.root());
  EXPECT_EQ(folder.entries(), 2);
  remove_folder(folder.root(), "step-1");
  EXPECT_EQ(folder.entries(), 1);
  remove_folder(folder.root(), "not there");
}

TEST(FolderWriter, SaysWhatTheFileSystemSaid) {
  const TempFolder folder;
  testing::expect_error([&] { FolderWriter(folder.path("missing"), "out"); }, ErrorKind::file, "file.write",
                        "missing/out: No such file or directory");
  FolderWriter writer(folder.root(), "out");
  put(writer, "a", "one");
  testing::expect_error([&] { writer.begin("a"); }, ErrorKind::file, "file.write", "out/a: File exists");
}

}  // namespace
}  // namespace headlight::io
