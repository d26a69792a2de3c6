// Models in several GGUF files: opened as one, or refused when they do not belong together.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "io/gguf.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/temp_folder.h"

namespace headlight::io {
namespace {

using headlight::testing::expect_error;
using headlight::testing::GgufWriter;
using headlight::testing::TempFolder;

// Three files with the tensors a, b and c; what they say may be changed before they are written.
struct Split {
  TempFolder temp;
  std::int64_t number[3] = {0, 1, 2};
  std::int64_t count[3] = {3, 3, 3};
  std::int64_t tensors[3] = {3, 3, 3};
  std::string names[3] = {"a", "b", "c"};
  std::string files[3] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"};
  std::function<void(GgufWriter&)> third = [](GgufWriter&) {};

  void write() const {
    for (std::size_t i = 0; i < 3; ++i) {
      GgufWriter w;
      if (i == 0) w.text("general.name", "three files");
      w.number("split.no", static_cast<std::uint16_t>(number[i]));
      w.number("split.count", static_cast<std::uint16_t>(count[i]));
      w.number("split.tensors.count", static_cast<std::int32_t>(tensors[i]));
      if (i == 2) third(w);
      Tensor numbers({2});
      numbers.as<float>()[0] = static_cast<float>(i);
      numbers.as<float>()[1] = 10;
      w.tensor(names[i], numbers);
      std::ofstream(temp.path(files[i]), std::ios::binary) << w.text();
    }
  }
  [[nodiscard]] std::string first() const { return temp.path(files[0]); }
  void refused(const std::string& words) const {
    write();
    expect_error([&] { (void)Gguf::open(first()); }, ErrorKind::input, "gguf.split", words);
  }
};

TEST(GgufSplit, OpensAsOne) {
  const Split split;
  split.write();
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  {
    Gguf opened = Gguf::open(split.first());
    const Gguf file = std::move(opened);  // names and data stay where they are
    EXPECT_EQ(file.files(), 3U);
    EXPECT_EQ(file.text("general.name"), "three files");
    ASSERT_EQ(file.tensors().size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      const GgufTensor* tensor = file.find_tensor(split.names[i]);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->part, i);
      EXPECT_EQ(file.load(*tensor).as<float>()[0], static_cast<float>(i));
      float number = -1;
      file.read(*tensor, 0, std::as_writable_bytes(std::span(&number, 1)));
      EXPECT_EQ(number, static_cast<float>(i));
    }
    bytes = file.bytes(*file.find_tensor("c"));
    owner = file.owner(*file.find_tensor("c"));
  }
  float number = 0;  // the owner keeps the third file's bytes, and not the first's
  std::memcpy(&number, bytes.data(), sizeof number);
  EXPECT_EQ(number, 2);
}

TEST(GgufSplit, OneOfOneIsAFileLikeAnyOther) {
  const TempFolder temp;
  GgufWriter w;
  w.number("split.no", std::uint16_t{0}).number("split.count", std::uint16_t{1});
  std::ofstream(temp.path("any.gguf"), std::ios::binary) << w.text();
  EXPECT_EQ(Gguf::open(temp.path("any.gguf")).files(), 1U);
}

TEST(GgufSplit, OpensByItsFirstFile) {
  Split split;
  split.write();
  expect_error([&] { (void)Gguf::open(split.temp.path(split.files[1])); }, ErrorKind::input, "gguf.split",
               "is file 2 of 3 of a model; open the first, m-00001-of-00003.gguf");
  split.files[0] = "other.gguf";
  split.refused("its name must end with -00001-of-00003.gguf");
}

TEST(GgufSplit, MissingFile) {
  const Split split;
  split.write();
  std::filesystem::remove(split.temp.path(split.files[2]));
  expect_error([&] { (void)Gguf::open(split.first()); }, ErrorKind::input, "gguf.split",
               "file 3 of 3 is missing: m-00003-of-00003.gguf");
  std::filesystem::create_symlink("/etc/hostname", split.temp.path(split.files[2]));
  expect_error([&] { (void)Gguf::open(split.first()); }, ErrorKind::input, "folder.link",
               "a link out of its folder");
}

TEST(GgufSplit, FilesThatDoNotBelongTogether) {
  Split order;
  std::swap(order.number[1], order.number[2]);
  order.refused("m-00002-of-00003.gguf: split.no is 2; beside ");
  Split count;
  count.count[2] = 4;
  count.refused("m-00003-of-00003.gguf: split.count is 4; beside ");
  Split tensors;
  tensors.tensors[1] = 4;
  tensors.refused("split.tensors.count is 4; beside ");
  Split all;
  for (std::int64_t& n : all.tensors) n = 7;
  all.refused("its 3 files have 3 tensors together; split.tensors.count is 7");
  Split twice;
  twice.names[2] = "a";
  twice.refused("tensor \"a\" is in ");
  Split other;
  other.third = [](GgufWriter& w) { w.text("general.name", "another model"); };
  other.refused("value \"general.name\" is not that of ");
  other.third = [](GgufWriter& w) { w.number("llama.block_count", 7U); };
  other.refused("value \"llama.block_count\" is not that of ");
  other.third = [](GgufWriter& w) { w.text("general.name", "three files"); };  // the same again is fine
  other.write();
  EXPECT_EQ(Gguf::open(other.first()).files(), 3U);
}

TEST(GgufSplit, NumbersThatAreMissingOrAbsurd) {
  const TempFolder temp;
  const auto refused = [&](const GgufWriter& w, const char* code, const char* words) {
    std::ofstream(temp.path("m-00001-of-00002.gguf"), std::ios::binary) << w.text();
    expect_error([&] { (void)Gguf::open(temp.path("m-00001-of-00002.gguf")); }, ErrorKind::input, code,
                 words);
  };
  refused(GgufWriter().number("split.count", 2U), "gguf.split", "lacks split.tensors.count");
  refused(GgufWriter().number("split.count", 2U).number("split.tensors.count", 1U), "gguf.split",
          "lacks split.no");
  refused(GgufWriter().number("split.count", std::uint64_t{1} << 60).number("split.tensors.count", 1U),
          "gguf.split", "the limit is 65535");
  refused(GgufWriter().text("split.count", "2"), "gguf.kind", "need an integer");
  refused(GgufWriter()
              .number("split.count", 2U)
              .number("split.tensors.count", 1U)
              .number("split.no", std::int32_t{-1}),
          "gguf.split", "is file 0 of 2");
}

}  // namespace
}  // namespace headlight::io
