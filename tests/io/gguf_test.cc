#include "io/gguf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "io/file.h"
#include "support/errors.h"
#include "support/gguf_writer.h"
#include "support/sanitizers.h"
#include "support/temp_folder.h"
#include "support/work_time.h"

namespace headlight::io {
namespace {

using testing::expect_error;
using testing::GgufWriter;
using testing::raw;
using testing::raw_text;

constexpr std::uint32_t kText = 8, kList = 9, kU32 = 4, kBool = 7;
constexpr std::uint64_t kMany[] = {1ULL << 33, (1ULL << 61) + 1, 1ULL << 63, ~0ULL};

Gguf parse(const std::string& file) {
  const auto bytes = std::as_bytes(std::span(file));
  return Gguf::parse({bytes.begin(), bytes.end()}, "x.gguf");
}
Gguf parse(const GgufWriter& writer) { return parse(writer.text()); }

void expect_refused(const std::string& file, const std::string& code, const std::string& words) {
  expect_error([&] { (void)parse(file); }, ErrorKind::input, "gguf." + code, words);
  try {
    (void)parse(file);
  } catch (const Error& error) {
    const std::string first = std::string(error.what()).substr(0, std::string(error.what()).find('\n'));
    EXPECT_LT(first.size(), 290U) << first;
    EXPECT_TRUE(first.starts_with("x.gguf: ")) << first;
  }
}
void expect_refused(const GgufWriter& writer, const std::string& code, const std::string& words) {
  expect_refused(writer.text(), code, words);
}

GgufWriter with_tensor(const std::vector<std::uint64_t>& dims, std::uint32_t type, std::uint64_t offset = 0,
                       std::size_t data = 64) {
  GgufWriter w;
  w.tensor_bytes("t", dims, type, offset);
  w.data = std::string(data, '\0');
  return w;
}

TEST(Gguf, ReadsAndFinds) {
  for (const std::uint32_t version : {2U, 3U}) {
    GgufWriter w;
    w.version = version;
    w.number<std::uint8_t>("a", 255).number<std::int8_t>("b", -1).number<std::int32_t>("c", -5);
    w.number<std::uint64_t>("d", 1ULL << 40).number("e", 2.5F).number("f", 0.125).number("yes", true);
    w.text("é", "\xFF\xFEx").texts("words", {"one", "", "three"}).list<std::int32_t>("ids", {1, -2, 3});
    w.list<float>("scores", {0.5F, -1}).list<bool>("flags", {}).number<std::uint64_t>("big", ~0ULL);
    Tensor t({2, 3});
    for (int i = 0; i < 6; ++i) t.as<float>()[i] = static_cast<float>(i);
    w.tensor("m", t).tensor_bytes("scalar", {}, 0, 0);
    w.tensors.replace(w.tensors.size() - 8, 8, raw<std::uint64_t>(32));
    w.data += raw(7.5F);
    const Gguf file = parse(w);
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.values().size(), 13U);
    EXPECT_EQ(file.integer("a"), 255);
    EXPECT_EQ(file.integer("b"), -1);
    EXPECT_EQ(file.integer("d"), 1LL << 40);
    EXPECT_EQ(file.real("c"), -5);
    EXPECT_EQ(file.real("e"), 2.5);
    EXPECT_EQ(file.real("f"), 0.125);
    EXPECT_EQ(file.boolean("yes"), true);
    EXPECT_EQ(file.text("é"), "\xFF\xFEx");  // G24: anything may stand in a text
    EXPECT_EQ(file.texts("words"), (std::vector<std::string_view>{"one", "", "three"}));
    EXPECT_EQ(file.integers("ids"), (std::vector<std::int64_t>{1, -2, 3}));
    EXPECT_EQ(file.reals("scores"), (std::vector<float>{0.5F, -1}));
    EXPECT_EQ(file.text("absent"), std::nullopt);
    EXPECT_EQ(file.find_tensor("absent"), nullptr);
    const GgufTensor* m = file.find_tensor("m");
    ASSERT_NE(m, nullptr);
    EXPECT_EQ(m->shape, (Shape{2, 3}));
    EXPECT_EQ(file.bytes(*m).size(), 24U);
    EXPECT_EQ(file.load(*m).at(1, 2), 5);
    EXPECT_EQ(file.load(*file.find_tensor("scalar")).at(0), 7.5);
    float two[2];
    file.load(*m, 3, two);
    EXPECT_EQ(two[1], 4);
    const auto wrong = [&](auto call, const std::string& words) {
      expect_error(call, ErrorKind::input, "gguf.kind", words);
    };
    wrong([&] { (void)file.text("a"); }, "value \"a\" is u8; need a text");
    wrong([&] { (void)file.integer("e"); }, "value \"e\" is f32; need an integer");
    wrong([&] { (void)file.integer("yes"); }, "is bool");
    wrong([&] { (void)file.integer("big"); }, "below 2^63");
    wrong([&] { (void)file.real("words"); }, "is a list of 3 text");
    wrong([&] { (void)file.boolean("a"); }, "need a boolean");
    wrong([&] { (void)file.texts("ids"); }, "need an array of strings");
    wrong([&] { (void)file.integers("scores"); }, "need an array of integers");
    wrong([&] { (void)file.integers("words"); }, "need an array of integers");
    wrong([&] { (void)file.reals("ids"); }, "need a list of f32");
  }
}

TEST(Gguf, G1RefusesOtherFiles) {
  expect_refused("", "magic", "is empty");
  expect_refused("G", "magic", "does not start with");
  expect_refused("GGUX" + std::string(40, '\0'), "magic", "does not start with");
  const std::string whole = GgufWriter().text();
  for (std::size_t cut = 4; cut < whole.size(); ++cut)
    expect_refused(whole.substr(0, cut), "cut", "shorter than a header's 24 bytes");
  for (const std::uint32_t version : {0U, 1U, 4U, 1U << 30}) {
    GgufWriter w;
    w.version = version;
    expect_refused(w, "version", "versions 2 and 3 are supported");
  }
  GgufWriter swapped;
  swapped.version = 3U << 24;
  expect_refused(swapped, "version", "big-endian");
}

TEST(Gguf, CutAnywhere) {
  GgufWriter w;
  w.text("general.architecture", "llama").list<std::int32_t>("ids", {1, 2}).texts("t", {"a", "b"});
  w.number("yes", true).tensor("m", Tensor({4, 8}));
  const std::string whole = w.text();
  (void)parse(whole);
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_THROW((void)parse(whole.substr(0, cut)), Error) << cut;
}

TEST(Gguf, G2RefusesCounts) {
  for (const std::uint64_t count : kMany) {
    GgufWriter values, tensors;
    values.value_count = count;
    expect_refused(values, "count", "values, but only 0 bytes follow");
    tensors.tensor_count = count;
    expect_refused(tensors, "count", "tensors, but only 0 bytes follow");
  }
}

TEST(Gguf, G3RefusesLengths) {
  for (const std::uint64_t length : {~0ULL, ~0ULL - 7, 1ULL << 63, 1ULL << 30, 100ULL}) {
    GgufWriter key, text, list;
    key.values = raw(length) + "key....................";
    key.value_count = 1;
    expect_refused(key, "text", "a key claims");
    text.value_bytes("k", kText, raw(length) + "text");
    expect_refused(text, "text", "a text claims");
    list.value_bytes("k", kList, raw(kText) + raw<std::uint64_t>(1) + raw(length) + "text");
    expect_refused(list, "text", "a text of a list claims");
  }
}

TEST(Gguf, G4RefusesKeys) {
  expect_refused(GgufWriter().number("", 1U), "key", "a key is empty");
  (void)parse(GgufWriter().number(std::string(65535, 'k'), 1U));
  expect_refused(GgufWriter().number(std::string(65536, 'k'), 1U), "key", "too long (limit 65535)");
  for (const char* bad : {"\xff", "a\xc0\xaf", "\xed\xa0\x80"})
    expect_refused(GgufWriter().number(bad, 1U), "key", "is not UTF-8");
  expect_refused(GgufWriter().number("k", 1U).number("j", 1U).text("k", ""), "key_twice",
                 "key \"k\" occurs twice");
}

TEST(Gguf, G5RefusesTypes) {
  for (const std::uint32_t type : {13U, 1U << 31, ~0U})
    expect_refused(GgufWriter().value_bytes("k", type, "12345678"), "type", "has the unknown type");
  expect_refused(GgufWriter().value_bytes("k", kBool, "\2"), "boolean", "neither 0 nor 1");
  expect_refused(GgufWriter().value_bytes("k", kList, raw(kBool) + raw<std::uint64_t>(3) + "\1\1\3"),
                 "boolean", "neither 0 nor 1");
}

TEST(Gguf, G6G7RefusesLists) {
  const auto list = [](std::uint32_t item, std::uint64_t count) {
    return GgufWriter().value_bytes("k", kList, raw(item) + raw(count) + std::string(64, '\0'));
  };
  expect_refused(list(10, 1ULL << 61), "list", "claims 2305843009213693952 items");
  expect_refused(list(4, 1ULL << 63), "list", "items");
  expect_refused(list(kText, 1ULL << 30), "list", "items");
  expect_refused(list(0, 65), "list", "claims 65 items, but only 64 bytes follow");
  expect_refused(list(13, 1), "list", "list of unknown type 13");
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += raw(kList) + raw<std::uint64_t>(1);
  expect_refused(GgufWriter().value_bytes("k", kList, nested), "nested", "an array of arrays");
}

TEST(Gguf, G8RefusesAlignments) {
  for (const std::uint32_t alignment : {0U, 3U, 1U << 31, 1U << 17})
    expect_refused(GgufWriter().number("general.alignment", alignment), "alignment", "need a power of two");
  (void)parse(GgufWriter().number("general.alignment", 65536U));
  expect_refused(GgufWriter().number<std::uint64_t>("general.alignment", 32), "alignment", "not u32");
  expect_refused(GgufWriter().text("general.alignment", "32"), "alignment", "is of type text");
}

TEST(Gguf, OtherAlignments) {
  GgufWriter w = with_tensor({2}, 0, 0, 0);
  w.number("general.alignment", 8U);
  std::string file = w.text();
  file.resize((file.size() + 7) / 8 * 8, '\0');
  EXPECT_EQ(parse(file + raw(1.5F) + raw(2.5F)).load(parse(file + raw(1.5F) + raw(2.5F)).tensors()[0]).at(1),
            2.5);
}

TEST(Gguf, G9RefusesTensorNames) {
  GgufWriter w;
  w.tensors = raw(1ULL << 40) + std::string(64, 'x');
  w.tensor_count = 1;
  expect_refused(w, "text", "a tensor's name claims 1099511627776 bytes");
  const auto named = [](const std::string& name) {
    GgufWriter one;
    one.tensor_bytes(name, {1}, 0, 0).data = std::string(32, '\0');
    return one;
  };
  (void)parse(named(std::string(1024, 'n')));
  expect_refused(named(std::string(1025, 'n')), "tensor_name", "too long (limit 1024)");
  expect_refused(named(""), "tensor_name", "is empty");
  expect_refused(named("\xff"), "tensor_name", "not UTF-8");
  GgufWriter twice = with_tensor({1}, 0);
  twice.tensor_bytes("t", {1}, 0, 32);
  expect_refused(twice, "tensor_twice", "tensor \"t\" occurs twice");
}

TEST(Gguf, G10RefusesShapes) {
  expect_refused(with_tensor({1, 1, 1, 1, 1}, 0), "dims", "has 5 axes; at most 4 exist");
  GgufWriter many = with_tensor({}, 0);
  many.tensors.replace(9, 4, raw(~0U));
  expect_refused(many, "dims", "has 4294967295 axes");
  expect_refused(with_tensor({~0ULL}, 0), "dims", "an axis of length");
  expect_refused(with_tensor({0, 4}, 0), "dims", "an axis of length 0");
  expect_refused(with_tensor({1ULL << 32, 1ULL << 32}, 0), "dims", "size overflow");
  expect_refused(with_tensor({(1ULL << 62) + 1, 4}, 0), "dims", "size overflow");
  expect_refused(with_tensor({1ULL << 62, 2}, 0), "dims", "size overflow");
}

TEST(Gguf, G11G15RefusesSizes) {
  expect_refused(with_tensor({1ULL << 62}, 0), "size", "size overflow");
  expect_refused(with_tensor({(1ULL << 62) - 1}, 27), "size", "size overflow");
  expect_refused(with_tensor({(1ULL << 63) - 32}, 0), "size", "size overflow");
  expect_refused(with_tensor({(1ULL << 61)}, 0), "data", "the file only");
  expect_refused(with_tensor({17}, 0), "data", "needs 68 bytes from byte 0 of the data, which has 64");
  expect_refused(with_tensor({16}, 0, 32), "data", "needs 64 bytes from byte 32");
  expect_refused(with_tensor({1}, 0, 0, 0), "data", "has tensors but no data");
  GgufWriter sum = with_tensor({16}, 0);
  sum.tensor_bytes("u", {1ULL << 60}, 0, 64);
  expect_refused(sum, "data", "the file only");
}

// A type that nobody here knows reaches to the next tensor, has a name, and cannot be read.
TEST(Gguf, UnknownTypesHaveANameAndAPlace) {
  for (const std::uint32_t type : {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 43U, 1000U, ~0U}) {
    GgufWriter w = with_tensor({33}, type);
    w.tensor_bytes("u", {4}, 0, 32);
    w.tensor_bytes("v", {7}, type, 64);
    w.data = std::string(100, '\1');
    const Gguf moved = parse(w);
    const GgufTensor& t = *moved.find_tensor("t");
    EXPECT_EQ(t.type->name, "type " + std::to_string(type));
    EXPECT_EQ(t.bytes, 32U);
    EXPECT_EQ(moved.find_tensor("v")->bytes, 36U);
    EXPECT_EQ(moved.bytes(t).size(), 32U);
    expect_error([&] { (void)moved.load(t); }, ErrorKind::input, "gguf.unsupported",
                 "tensor \"t\" is type " + std::to_string(type) + ", which is not supported");
  }
  expect_refused(with_tensor({32}, 1000, 96), "offset", "begins at byte 96 of 64 bytes");
}

TEST(Gguf, G13RefusesRowsThatAreNotWholeBlocks) {
  expect_refused(with_tensor({31, 32}, 8), "row", "rows of 31, which Q8_0 cannot hold: its blocks have 32");
  expect_refused(with_tensor({128, 2}, 12), "row", "its blocks have 256");
}

TEST(Gguf, G14RefusesOffsets) {
  expect_refused(with_tensor({1}, 0, 4), "offset", "not a multiple of 32");
  expect_refused(with_tensor({1}, 0, 96), "offset", "begins at byte 96 of 64 bytes");
  expect_refused(with_tensor({1}, 0, ~0ULL - 31), "offset", "begins at byte");
  GgufWriter w = with_tensor({16}, 0);
  w.tensor_bytes("u", {1}, 0, 32);
  expect_refused(w, "overlap", "tensor \"u\" overlaps another one");
}

TEST(Gguf, UnsupportedTypesAreListedAndNotLoaded) {
  const Gguf file = parse(with_tensor({32}, 9, 0, 64));
  EXPECT_EQ(file.tensors()[0].type->name, "Q8_1");
  expect_error([&] { (void)file.load(file.tensors()[0]); }, ErrorKind::input, "gguf.unsupported",
               "tensor \"t\" is Q8_1, which is not supported");
}

TEST(Gguf, HostileNamesAreEscaped) {
  GgufWriter w;
  w.number("a\x1b[31m\nb", 1U).number("a\x1b[31m\nb", 1U);
  expect_refused(w, "key_twice", "a\\x1b[31m\\nb");
}

TEST(Gguf, ManyTensorsInLinearTime) {
  GgufWriter w;
  for (int i = 0; i < 100'000; ++i)
    w.tensor_bytes("tensor." + std::to_string(i), {8}, 0, 32U * static_cast<unsigned>(i));
  w.data.resize(32 * 100'000, '\0');
  const std::string file = w.text();
  const double start = testing::work_seconds();
  EXPECT_EQ(parse(file).tensors().size(), 100'000U);
  EXPECT_LT(testing::work_seconds() - start, testing::kPatience);
}

TEST(Gguf, FileThatShrinks) {  // S21's rule for GGUF
  const testing::TempFolder folder;
  const std::string path = folder.path("x.gguf");
  GgufWriter w;
  w.tensor("m", Tensor({64, 64}));
  std::ofstream(path, std::ios::binary) << w.text();
  const Gguf file = Gguf::open(path);
  EXPECT_EQ(file.load(file.tensors()[0]).at(3, 3), 0);
  std::filesystem::resize_file(path, 200);
  expect_error([&] { (void)file.bytes(file.tensors()[0]); }, ErrorKind::file, "file.shrunk", "was truncated");
  expect_error([&] { (void)file.load(file.tensors()[0]); }, ErrorKind::file, "file.kind", "was truncated");
}

}  // namespace
}  // namespace headlight::io
