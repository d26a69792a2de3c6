// The one writer of JSON: what it writes is strict JSON, whatever it is given.
#include "io/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <regex>

#include "io/gzip.h"
#include "io/json.h"
#include "support/places.h"

namespace headlight::io {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(JsonWriter, WritesEveryKindOfValue) {
  JsonWriter w;
  w.begin_object().field("yes", true).field("no", false).field("nothing", nullptr);
  w.field("whole", -3).field("large", ~std::uint64_t{0}).field("byte", std::uint8_t{7});
  w.field("real", 0.1).field("single", 0.1F).field("text", "a\"b\n");
  w.field("none", std::optional<int>()).field("some", std::optional(5));
  w.field("list", std::vector<double>{1, 2.5}).field("texts", std::vector<std::string>{"x", ""});
  w.field("six", significant(1 / 3.0, 6)).field("two", decimals(2, 2)).field("point", with_point(-3));
  w.field("made", JsonText{"{\"a\": 1}"}).key("empty").begin_list().end_list().end_object();
  EXPECT_EQ(
      w.take(),
      "{\"yes\": true, \"no\": false, \"nothing\": null, \"whole\": -3, \"large\": 18446744073709551615, "
      "\"byte\": 7, \"real\": 0.1, \"single\": 0.1, \"text\": \"a\\\"b\\n\", \"none\": null, \"some\": 5, "
      "\"list\": [1, 2.5], \"texts\": [\"x\", \"\"], \"six\": 0.333333, \"two\": 2.00, \"point\": -3.0, "
      "\"made\": {\"a\": 1}, \"empty\": []}");
}

TEST(JsonWriter, NumbersThatAreNotFiniteAreNull) {
  const std::vector<double> wrong = {kInfinity, -kInfinity, std::nan("")};
  JsonWriter w;
  w.begin_list().value(wrong);
  for (const double x : wrong) {
    w.value(static_cast<float>(x)).value(std::optional(x));
    w.value(significant(x, 6)).value(decimals(x, 6)).value(with_point(x));
  }
  const Json json = Json::parse(w.end_list().take(), "numbers");
  for (const Json& item : json.items()[0].items()) EXPECT_TRUE(item.is(Json::Kind::null));
  ASSERT_EQ(json.items().size(), 16U);
  for (const Json& item : json.items().subspan(1)) EXPECT_TRUE(item.is(Json::Kind::null));
}

TEST(JsonWriter, Layouts) {
  JsonWriter w;
  w.begin_object(JsonLayout::lines).field("a", 1).key("b").begin_list(JsonLayout::lines);
  w.begin_object().field("c", 2).field("d", 3).end_object().value(4).end_list();
  w.key("e").begin_object(JsonLayout::lines).end_object().end_object();
  EXPECT_EQ(w.take_line(),
            "{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": 2, \"d\": 3},\n    4\n  ],\n  \"e\": {}\n}\n");
  w.begin_object(JsonLayout::tight).field("a", 1).field("b", 2).end_object();
  EXPECT_EQ(w.take(), "{\"a\":1,\"b\":2}");
}

TEST(JsonWriter, KeysAndTextsOfAnyBytes) {
  JsonWriter w;
  w.begin_object();
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  w.field(all, all).end_object();
  const Json json = Json::parse(w.take(), "bytes");
  EXPECT_EQ(json.keys()[0], json.items()[0].text());
  EXPECT_EQ(json.keys()[0].substr(0, 128), all.substr(0, 128));
}

// Nobody else puts braces, quotes and numbers together.
TEST(JsonWriter, IsTheOnlyOne) {
  const std::regex by_hand(R"re(\{\{\\"|"\{\\"|R"\(\{|isfinite\([^)]*\) \? fmt)re");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(testing::source_folder()) / "src")) {
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
    const std::string text = read_text(entry.path().string());
    ++files;
    std::smatch found;
    EXPECT_FALSE(std::regex_search(text, found, by_hand)) << entry.path() << ": " << found.str();
  }
  EXPECT_GT(files, 300);
}

}  // namespace
}  // namespace headlight::io
