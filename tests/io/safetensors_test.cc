#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "headlight/error.h"
#include "io/file.h"
#include "support/errors.h"
#include "support/safetensors_reader.h"
#include "support/sanitizers.h"
#include "support/shared_data.h"
#include "support/temp_folder.h"
#include "support/work_time.h"

namespace headlight::io {
namespace {

using testing::expect_error;
using testing::TempFolder;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

std::string length_of(std::uint64_t length) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text;
}

std::vector<std::byte> file_of(std::string_view header, std::size_t data) {
  return bytes_of(length_of(header.size()) + std::string(header) + std::string(data, '\1'));
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// The words of the refusal; "accepted" when there is none.
std::string refusal(std::vector<std::byte> file) {
  try {
    (void)Safetensors::parse(std::move(file), "x.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    EXPECT_LE(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

struct Case {
  std::vector<std::byte> file;
  std::string says;
};
void expect_refused(const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string words = refusal(cases[i].file);
    EXPECT_NE(words.find(cases[i].says), std::string::npos) << "case " << i << ": " << words;
    EXPECT_LT(words.find('\n') == std::string::npos ? words.size() : words.find('\n'), 300U);
  }
}

const std::string kOne = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(Safetensors, ReadsAndFinds) {
  const Safetensors file = Safetensors::parse(
      file_of(
          R"({"__metadata__":{"format":"pt","\u00e9":"\ud83d\ude00"},"b":{"data_offsets":[8,10],"dtype":"F16",)"
          R"("shape":[]},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"\u0065":{"dtype":"I8",)"
          R"("shape":[0,3],"data_offsets":[8,8]}}   )",
          10),
      "x");
  ASSERT_EQ(file.entries().size(), 3U);
  EXPECT_EQ(file.entries()[0].name, "b");
  EXPECT_EQ(file.find("a")->shape, (std::vector<Index>{2, 1}));
  EXPECT_EQ(file.find("e")->shape, (std::vector<Index>{0, 3}));
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(*file.metadata("format"), "pt");
  EXPECT_EQ(*file.metadata("\u00e9"), "\U0001F600");
  EXPECT_EQ(file.bytes(*file.find("b")).size(), 2U);
  EXPECT_EQ(file.load(*file.find("b"), DType::f32).shape(), (Shape{1}));
  EXPECT_EQ(file.load(*file.find("e"), DType::i64).shape(), (Shape{0, 3}));
  expect_error([&] { (void)file.at("aa"); }, ErrorKind::input, "safetensors.missing",
               "tensor \"aa\" not found among 3; the closest is \"a\"");
  EXPECT_TRUE(Safetensors::parse(file_of("{}", 0), "x").entries().empty());
}

TEST(Safetensors, RefusesLengths) {  // S1, S2, S3
  expect_refused({{{}, "shorter than 8 bytes"},
                  {bytes_of("x"), "shorter than 8 bytes"},
                  {bytes_of("1234567"), "shorter than 8 bytes"},
                  {bytes_of(length_of(0)), "does not start with '{'"},
                  {bytes_of(length_of(3) + "{}"), "claims 3 bytes, the file has 2"},
                  {bytes_of(length_of((1ULL << 32) + 2) + "{}"), "too long"},
                  {bytes_of(length_of(1ULL << 63) + "{}"), "too long"},
                  {bytes_of(length_of(-8ULL) + "{}"), "too long"},
                  {bytes_of(length_of(-1ULL) + "{}"), "too long"},
                  {bytes_of(length_of(100'000'000) + "{}"), "claims 100000000 bytes"},
                  {bytes_of(length_of(100'000'001) + "{}"), "too long (limit 100000000)"}});
}

TEST(Safetensors, RefusesBadText) {  // S4, S5, S6, S7
  const auto named = [](std::string_view name) {
    return file_of("{\"" + std::string(name) + "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                   8);
  };
  expect_refused(
      {{named("\xff"), "not UTF-8"},
       {named("\xc0\xaf"), "not UTF-8"},
       {named("\xed\xa0\x80"), "not UTF-8"},
       {named("\\ud800"), "surrogate"},
       {named("\\ud800\\u0041"), "surrogate"},
       {named("\\udc00"), "surrogate"},
       {named("\\x41"), "unknown escape"},
       {named("\\u00g1"), "damaged \\u escape"},
       {named("a\nb"), "control character"},
       {file_of("\xef\xbb\xbf" + kOne, 8), "does not start with '{'"},
       {file_of(" " + kOne, 8), "does not start with '{'"},
       {file_of(kOne.substr(0, kOne.size() - 1), 8), "cut off"},
       {file_of("{\"a", 8), "cut off inside a text"},
       {file_of(kOne + "{}", 8), "unexpected bytes follow"},
       {file_of(kOne + std::string(3, '\0'), 8), "unexpected bytes follow"},
       {file_of(kOne + "//", 8), "unexpected bytes follow"},
       {file_of("{/**/}", 0), "expected '\"'"},
       {file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},}", 8), "expected '\"'"},
       {file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[2,],\"data_offsets\":[0,8]}}", 8), "whole number"},
       {file_of("[]", 0), "does not start with '{'"},
       {file_of("null", 0), "does not start with '{'"},
       {file_of("{\"a\":" + std::string(120'000, '['), 0), "expected '{'"},
       {file_of(repeated("{\"a\":", 200'000), 0), "unknown field"}});
}

TEST(Safetensors, RefusesTheSameTwice) {  // S8
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  expect_refused({{file_of("{" + a + "," + a + "}", 8), "tensor \"a\" occurs twice"},
                  {file_of("{" + a + R"(,"\u0061":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12),
                   "occurs twice"},
                  {file_of(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
                   "\"dtype\" twice"},
                  {file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "\"__metadata__\" occurs twice"},
                  {file_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "metadata \"k\" occurs twice"}});
}

TEST(Safetensors, RefusesRangesThatDoNotFillTheFile) {  // S9, S10, S11, S12
  const auto two = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  std::string same = "{";
  for (int i = 0; i < 400; ++i) {
    same +=
        (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  }
  EXPECT_EQ(refusal(file_of(two("[4,8]", "[0,4]"), 8)), "accepted");
  expect_refused({{file_of(two("[0,4]", "[2,6]"), 6), "overlaps"},
                  {file_of(same + "}", 4), "overlaps"},
                  {file_of(two("[0,4]", "[5,9]"), 9), "bytes 4 to 5 of the data belong to no tensor"},
                  {file_of(two("[1,5]", "[5,9]"), 9), "bytes 0 to 1"},
                  {file_of(two("[0,4]", "[4,8]"), 9), "1 bytes follow the last tensor"},
                  {file_of(two("[0,4]", "[4,8]"), 7), "ends at byte 8 of the data, but the file has 7"},
                  {file_of(two("[0,4]", "[1000000000000,1000000000004]"), 8), "damaged or incomplete"},
                  {file_of(two("[0,4]", "[8,4]"), 8), "before it begins"}});
  for (const char* bad :
       {"[-4,0]", "[0.0,4]", "[0,4.0]", "[0,16e0]", "[\"0\",4]", "[00,4]", "[0,04]", "[NaN,4]",
        "[0,18446744073709551620]", "[0]", "[0,4,8]", "[]", "null", "{}", "[0,+4]", "[0,4 4]"}) {
    EXPECT_NE(refusal(file_of(two("[0,4]", bad), 8)), "accepted") << bad;
  }
}

TEST(Safetensors, RefusesSizes) {  // S13, S14, S15
  const auto one = [](const char* dtype, const std::string& shape, std::uint64_t end) {
    return std::string(R"({"a":{"dtype":")") + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[0,)" +
           std::to_string(end) + "]}}";
  };
  std::string axes = "[1";
  for (int i = 1; i < 20'000; ++i) axes += ",1";
  expect_refused({{file_of(one("F32", "[4294967296,4294967296]", 0), 0), "size overflow"},
                  {file_of(one("F32", "[4611686018427387905]", 4), 4), "size overflow"},
                  {file_of(one("F32", "[4611686018427387908]", 16), 16), "size overflow"},
                  {file_of(one("F32", "[-1]", 4), 4), "whole number"},
                  {file_of(one("F32", axes + "]", 4), 4), "more than 8 axes"},
                  {file_of(one("F32", "[1,1,1,1,1,1,1,1,1]", 4), 4), "more than 8 axes"},
                  {file_of(one("F32", "[3]", 8), 8), "spans 8 bytes, but F32 [3] needs 12"},
                  {file_of(one("F4", "[3]", 2), 2), "does not fill whole bytes"}});
  EXPECT_EQ(refusal(file_of(one("F32", "[4611686018427387905,4611686018427387905,0]", 0), 0)), "accepted");
  EXPECT_EQ(refusal(file_of(one("F4", "[4]", 2), 2)), "accepted");
  EXPECT_EQ(refusal(file_of(one("F32", "[1,1,1,1,1,1,1,1]", 4), 4)), "accepted");
}

TEST(Safetensors, RefusesFields) {  // S16, S17
  expect_refused(
      {{file_of(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8), "unknown type \"F33\""},
       {file_of(R"({"a":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})", 8), "unknown type \"f32\""},
       {file_of(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8), "lacks \"dtype\""},
       {file_of(R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", 8), "lacks \"shape\""},
       {file_of(R"({"a":{"dtype":"F32","shape":[2]}})", 8), "lacks \"data_offsets\""},
       {file_of(R"({"a":null})", 0), "expected '{'"},
       {file_of(R"({"a":{"dtype":1,"shape":[2],"data_offsets":[0,8]}})", 8), "expected '\"'"},
       {file_of(R"({"__metadata__":{"a":1}})", 0), "expected '\"'"},
       {file_of(R"({"__metadata__":{"a":{}}})", 0), "expected '\"'"},
       {file_of(R"({"__metadata__":null})", 0), "expected '{'"}});
}

TEST(Safetensors, NamesArePrintedEscapedAndNeverUsed) {  // S18
  const std::string evil = R"({"..\/\n\u001b[31m\u0000)" + std::string(1 << 20, 'x') +
                           R"(":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})";
  const std::string words = refusal(file_of(evil, 8));
  EXPECT_NE(words.find("../\\n\\x1b[31m\\x00"), std::string::npos) << words;
  EXPECT_LT(words.size(), 300U);
}

TEST(Safetensors, ManyTensorsAreQuick) {  // S19
  std::string header = "{";
  for (int i = 0; i < 100'000; ++i) {
    header += (i > 0 ? ",\"layer." : "\"layer.") + std::to_string(i) +
              R"(.weight":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
  }
  std::vector<std::byte> file = file_of(header + "}", 100'000);
  const double begin = testing::work_seconds();
  const Safetensors tensors = Safetensors::parse(std::move(file), "x");
  EXPECT_EQ(tensors.entries().size(), 100'000U);
  EXPECT_NE(tensors.find("layer.99999.weight"), nullptr);
  EXPECT_LT(testing::work_seconds() - begin, testing::kPatience);
}

TEST(Safetensors, LoadsWhatOthersRefuse) {  // S20
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::string data("\2", 1);
  data.append(reinterpret_cast<const char*>(&nan), 4);
  const Safetensors file =
      Safetensors::parse(bytes_of(length_of(117) +
                                  R"({"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},)"
                                  R"("a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}         )" +
                                  data),
                         "x");
  EXPECT_EQ(file.load(file.at("b"), DType::boolean).as<std::uint8_t>()[0], 1);
  EXPECT_TRUE(std::isnan(file.load(file.at("a"), DType::f32).as<float>()[0]));
  EXPECT_TRUE(std::isnan(file.load(file.at("a"), DType::f64).as<double>()[0]));
}

TEST(Safetensors, AFileThatShrinksIsAnError) {  // S21
  const TempFolder folder;
  const std::string path = folder.path("x.safetensors");
  {
    const auto file = file_of(kOne, 8);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  }
  const Safetensors file = Safetensors::open(path);
  EXPECT_EQ(file.bytes(file.at("a")).size(), 8U);
  std::filesystem::resize_file(path, 20);
  expect_error([&] { (void)file.bytes(file.at("a")); }, ErrorKind::file, "file.shrunk", "was truncated");
  expect_error([&] { (void)file.load(file.at("a"), DType::f32); }, ErrorKind::file, "file.kind",
               "was truncated");
}

TEST(Safetensors, WritesWhatItReads) {
  const TempFolder folder;
  const std::string path = folder.path("x.safetensors");
  const Tensor f = Tensor::from(std::vector<double>{1, -2, 0.5, 1e-30}, {2, 2});
  const Tensor d = Tensor::from(std::vector<double>{3.25}, {1, 1, 1}, DType::f64);
  const Tensor h = Tensor::from(std::vector<double>{65504, -0.0}, {2}, DType::f16);
  const Tensor i = Tensor::from(std::vector<double>{-7, 7}, {2}, DType::i64);
  const std::vector<NamedTensor> all = {{"f \"quoted\"\n", f}, {"d", d}, {"h", h}, {"i", i}};
  Outputs outputs(Existing::refuse);
  outputs.reserve(path);
  write_safetensors(outputs, path, all, {{"format", "headlight"}, {"k", "\t"}});
  outputs.commit();

  const Safetensors file = Safetensors::open(path);
  EXPECT_EQ(*file.metadata("k"), "\t");
  ASSERT_EQ(file.entries().size(), 4U);
  for (const NamedTensor& named : all) {
    const Tensor back = file.load(file.at(named.name), named.tensor.dtype());
    EXPECT_EQ(back.shape(), named.tensor.shape());
    EXPECT_EQ(std::memcmp(back.as<std::byte>(), named.tensor.data(),
                          static_cast<std::size_t>(back.shape().elements()) * size_of(back.dtype())),
              0);
  }
  EXPECT_EQ(file.load(file.at("f \"quoted\"\n"), DType::bf16).at(1, 0), 0.5);
  EXPECT_EQ(file.load(file.at("i"), DType::i32).at(0), -7);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes(file.entries()[0]).data()) % 64, 0U);
  expect_error([&] { (void)file.load(file.at("i"), DType::f32); }, ErrorKind::input, "safetensors.convert",
               "tensor \"i\" is I64 and cannot be used as f32");
  expect_error([&] { (void)file.load(file.at("d"), DType::i64); }, ErrorKind::input, "safetensors.convert",
               "F64");
}

TEST(Safetensors, RefusesNumbersThatDoNotFit) {
  std::vector<std::byte> file = file_of(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8);
  const Safetensors tensors = Safetensors::parse(std::move(file), "x");
  expect_error([&] { (void)tensors.load(tensors.at("a"), DType::i32); }, ErrorKind::input,
               "safetensors.convert", "does not fit in i32");
}

HEADLIGHT_SHARED_TEST(Safetensors, AgreesWithAnotherReader) {
  const auto shared = testing::shared_data();
  const std::filesystem::path path = *shared / "data/models/nano-sort/golden.safetensors";
  const auto expected = testing::read_safetensors(path);
  const Safetensors file = Safetensors::open(path);
  EXPECT_EQ(file.entries().size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const Tensor mine = file.load(file.at(name), tensor.dtype());
    ASSERT_EQ(mine.shape(), tensor.shape()) << name;
    EXPECT_EQ(std::memcmp(mine.as<std::byte>(), tensor.as<std::byte>(),
                          static_cast<std::size_t>(tensor.shape().elements()) * size_of(tensor.dtype())),
              0)
        << name;
  }
}

}  // namespace
}  // namespace headlight::io
