#include "io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "headlight/error.h"
#include "io/file.h"
#include "support/temp_folder.h"

namespace headlight::io {
namespace {

using ::testing::HasSubstr;
using testing::TempFolder;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

// A file as another program might write it: any header text, any data.
Bytes npy(std::string_view dictionary, std::string_view data, char major = 1) {
  std::string file("\x93NUMPY", 6);
  file +=
      {major, '\0', static_cast<char>(dictionary.size() & 0xFFU), static_cast<char>(dictionary.size() >> 8)};
  if (major > 1) file += std::string(2, '\0');
  return bytes_of(file + std::string(dictionary) + std::string(data));
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string refusal(const Bytes& file) {
  try {
    (void)parse_npy(file, "x.npy");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(Npy, ReadsEveryTypeAndVersion) {
  for (const char major : {'\1', '\2', '\3'}) {
    const NpyArray a = parse_npy(
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", raw<float>({1, 2, 3, 4}), major),
        "a");
    EXPECT_EQ(a.tensor.dtype(), DType::f32);
    EXPECT_EQ(a.shape, (Shape{2, 2}));
    EXPECT_EQ(a.tensor.at(1, 0), 3);
  }
  const auto one = [](std::string_view descr, const std::string& data) {
    return parse_npy(
               npy("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (1,)}", data),
               "a")
        .tensor.at(0);
  };
  EXPECT_EQ(one("<f8", raw<double>({-0.5})), -0.5);
  EXPECT_EQ(one("<f2", std::string("\x00\x3c", 2)), 1);
  EXPECT_EQ(one("<i4", raw<std::int32_t>({-7})), -7);
  EXPECT_EQ(one("<i8", raw<std::int64_t>({1LL << 40})), static_cast<double>(1LL << 40));
  EXPECT_EQ(one("|b1", "\x02"), 1);  // any byte but 0 is true
  EXPECT_EQ(one(">i4", std::string("\0\0\1\0", 4)), 256);
  EXPECT_EQ(one(">f2", std::string("\x3c\x00", 2)), 1);
}

TEST(Npy, AcceptsWhatPythonWrites) {
  const std::string data = raw<float>({5});
  for (const char* header : {"{'shape': (1,), 'fortran_order': False, 'descr': '<f4'}",
                             "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(1,)}",
                             "  {'descr': '<f4', 'fortran_order': False, 'shape': (1L,), }   \n",
                             "{'descr': '=f4', 'fortran_order': True, 'shape': (1, 1), }"}) {
    EXPECT_EQ(parse_npy(npy(header, data), "a").tensor.shape().elements(), 1) << header;
  }
}

TEST(Npy, ConvertsFortranOrder) {
  const NpyArray a = parse_npy(
      npy("{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3, 2), }",
          raw<std::uint32_t>({0x00000000, 0x06000000, 0x02000000, 0x08000000, 0x04000000, 0x0a000000,
                              0x01000000, 0x07000000, 0x03000000, 0x09000000, 0x05000000, 0x0b000000})),
      "a");
  for (Index i = 0; i < 12; ++i) EXPECT_EQ(a.tensor.at(i / 6, i / 2 % 3, i % 2), static_cast<double>(i));
}

TEST(Npy, ScalarsAndEmptyArrays) {
  const NpyArray scalar =
      parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", raw<float>({3})), "a");
  EXPECT_EQ(scalar.shape.rank, 0);
  EXPECT_EQ(scalar.tensor.at(0), 3);
  const NpyArray none =
      parse_npy(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 0, 2), }", ""), "a");
  EXPECT_EQ(none.shape, (Shape{3, 0, 2}));
  EXPECT_EQ(none.tensor.shape().elements(), 0);
}

TEST(Npy, RefusesDamageAndSaysWhere) {
  const std::string four(4, '\0');
  struct Case {
    Bytes file;
    std::string says;
  };
  const auto dictionary = [&](std::string_view d) { return npy(d, four); };
  const std::vector<Case> cases = {
      {bytes_of(""), "not a .npy file"},
      {bytes_of("PK\x03\x04 a zip archive"), "not a .npy file"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", four, 4), "version 4.0 is unknown"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", four, 0), "version 0.0 is unknown"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"),
       "f32 [2] needs 8 bytes of data, the file has 4 (cut off?)"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", four + "x"),
       "extra bytes after the array"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"),
       "size overflow"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,), }"),
       "size overflow"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0), }"),
       "size overflow"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
       "longer than memory"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), "0 or more"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,), }"), "damaged"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (1), }"), "(N,)"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (1 1), }"), "expected ',' or ')'"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (,), }"), "0 or more"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': [1], }"), "expected '('"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1), }"), "more than 4 axes"},
      {dictionary("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), "'<c8' are not supported"},
      {dictionary("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), "'|O' are not supported"},
      {dictionary("{'descr': '', 'fortran_order': False, 'shape': (1,), }"), "not supported"},
      {dictionary("{'descr': '|f4', 'fortran_order': False, 'shape': (1,), }"), "not supported"},
      {dictionary("{'descr': 'f4\x1b[31m', 'fortran_order': False, 'shape': (1,), }"), "\\x1b"},
      {dictionary("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), "arrays of records"},
      {dictionary("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }"), "neither True nor False"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, }"), "lacks"},
      {dictionary("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"),
       "'descr' twice"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}"), "unknown entry 'x'"},
      {dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x"), "text after"},
      {dictionary("{'descr': '<f4' 'fortran_order': False, 'shape': (1,), }"), "expected '}'"},
      {dictionary("{'descr"), "does not end"},
      {dictionary(""), "expected '{'"},
      {dictionary(std::string(70, '\0')), "expected '{'"},
      {bytes_of(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)), "does not fit"},
      {bytes_of(std::string("\x93NUMPY\x02\x00\x01\x00\x01\x00", 12) + std::string(65537, ' ')),
       "above the limit"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(refusal(c.file), HasSubstr(c.says));
    EXPECT_THAT(refusal(c.file), ::testing::StartsWith("x.npy: "));
  }
}

TEST(Npy, RefusesEveryTruncation) {
  const Tensor t = Tensor::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3}, DType::f64);
  const std::string whole =
      npy_header(DType::f64, t.shape()) + std::string(reinterpret_cast<const char*>(t.as<double>()), 48);
  EXPECT_EQ(refusal(bytes_of(whole)), "accepted");
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(refusal(bytes_of(whole.substr(0, n))), "accepted") << n;
}

TEST(Npy, WritesWhatItReads) {
  const TempFolder folder;
  const std::vector<Shape> shapes = {{1}, {3}, {2, 3}, {1, 2, 3}, {2, 1, 3, 2}, {0}, {2, 0}};
  int number = 0;
  for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean}) {
    for (const Shape& shape : shapes) {
      Tensor t(shape, dtype);
      const TensorView flat(t.as<std::byte>(), dtype, {shape.elements()});
      for (Index i = 0; i < shape.elements(); ++i) flat.set(i, static_cast<double>(i * 3 - 4));
      const std::string path = folder.path(std::to_string(number++) + ".npy");
      Outputs outputs(Existing::refuse);
      outputs.reserve(path);
      write_npy(outputs, path, t, shape);
      outputs.commit();
      const NpyArray back = read_npy(path);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.tensor.dtype(), dtype);
      const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * size_of(dtype);
      EXPECT_EQ(std::filesystem::file_size(path) % 64, bytes % 64);
      if (bytes > 0) { EXPECT_EQ(std::memcmp(back.tensor.as<std::byte>(), t.as<std::byte>(), bytes), 0); }
    }
  }
  EXPECT_THROW((void)npy_header(DType::bf16, {1}), Error);
}

TEST(Npy, HeaderIsTheOneNumPyWrites) {
  EXPECT_THAT(npy_header(DType::f32, {2, 3}),
              HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  EXPECT_THAT(npy_header(DType::boolean, {3}),
              HasSubstr("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_THAT(npy_header(DType::i64, {}), HasSubstr("'shape': (), }"));
  EXPECT_EQ(npy_header(DType::f64, {1, 2, 3, 4}).size() % 64, 0U);
}

}  // namespace
}  // namespace headlight::io
