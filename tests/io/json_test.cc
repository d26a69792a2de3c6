// JSON from strangers: what is accepted, what is refused, and in which words.
#include "io/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "headlight/error.h"
#include "support/temp_folder.h"

namespace headlight::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = Json::Kind;

// The message of a refusal; fails the test when there is none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    EXPECT_TRUE(error.code().starts_with("json.")) << error.code();
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}
std::string refusal_of(std::string_view text) {
  return refusal([&] { static_cast<void>(Json::parse(text, "a.json")); });
}

TEST(JsonTree, HasEveryKindOfValue) {
  const Json json = Json::parse(
      R"({"none": null, "yes": true, "whole": -7, "real": 0.5, "text": "a\u00e9\n", "list": [1, 2.0, "x"], "inner": {}})",
      "a.json");
  EXPECT_TRUE(json.is(Kind::object));
  EXPECT_EQ(json.file(), "a.json");
  EXPECT_THAT(json.keys(), ElementsAre("none", "yes", "whole", "real", "text", "list", "inner"));
  EXPECT_TRUE(json.at("none").is(Kind::null));
  EXPECT_TRUE(json.boolean("yes"));
  EXPECT_EQ(json.integer("whole"), -7);
  EXPECT_EQ(json.real("whole"), -7) << "a whole number is a number";
  EXPECT_EQ(json.real("real"), 0.5);
  EXPECT_EQ(json.text("text"), "aé\n");
  const Json& list = json.list("list");
  ASSERT_EQ(list.items().size(), 3U);
  EXPECT_EQ(list.items()[0].integer(), 1);
  EXPECT_TRUE(list.items()[1].is(Kind::real)) << "2.0 is not a whole number";
  EXPECT_EQ(list.items()[2].text(), "x");
  EXPECT_TRUE(json.object("inner").items().empty());
  EXPECT_EQ(json.find("absent"), nullptr);
  EXPECT_EQ(list.find("x"), nullptr) << "a list has no keys";
}

TEST(JsonTree, OutlivesItsText) {
  Json inner;
  {
    std::string text = R"({"a": {"b": ["long enough not to be stored in place", 1]}})";
    const Json json = Json::parse(text, "gone.json");
    text.assign(text.size(), 'x');
    inner = json.at("a");
  }
  EXPECT_EQ(inner.list("b").items()[0].text(), "long enough not to be stored in place");
  EXPECT_EQ(inner.file(), "gone.json");
}

TEST(JsonTree, NumbersKeepTheirDigits) {
  const Json json = Json::parse(
      "[9223372036854775807, -9223372036854775808, 9223372036854775808, 0.1, 1e-320, -0.0, 16e0]", "a.json");
  EXPECT_EQ(json.items()[0].integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(json.items()[1].integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(json.items()[2].is(Kind::real)) << "2^63 does not fit a whole number";
  EXPECT_EQ(json.items()[2].real(), 0x1p63);
  EXPECT_EQ(json.items()[3].real(), 0.1);
  EXPECT_EQ(json.items()[4].real(), 1e-320);
  EXPECT_TRUE(std::signbit(json.items()[5].real()));
  EXPECT_TRUE(json.items()[6].is(Kind::real));
}

// One row per rule of the strict reader.
TEST(JsonReader, RefusesWhatIsNotStrictJson) {
  using std::string_literals::operator""s;
  const std::vector<std::pair<const char*, std::string>> bad = {
      {"nothing", ""},
      {"spaces", " \n"},
      {"cut", R"({"a": )"},
      {"second value", "{} {}"},
      {"tail", "{}x"},
      {"NUL padding", "{}\0"s},
      {"comment", "/* a */ {}"},
      {"trailing comma in a list", "[1,]"},
      {"trailing comma in an object", R"({"a": 1,})"},
      {"no comma", "[1 2]"},
      {"key without quotes", "{a: 1}"},
      {"single quotes", "['a']"},
      {"NaN", "[NaN]"},
      {"infinity", "[Infinity]"},
      {"number beyond a double", "[1e999]"},
      {"integer beyond 64 bits", "[123456789012345678901234567890]"},
      {"leading zero", "[00]"},
      {"plus sign", "[+1]"},
      {"bare dot", "[.5]"},
      {"hexadecimal", "[0x10]"},
      {"byte order mark", "\xEF\xBB\xBF{}"},
      {"UTF-16", "{\0}\0"s},
      {"not UTF-8", "[\"\xFF\"]"},
      {"overlong UTF-8", "[\"\xC0\xAF\"]"},
      {"encoded surrogate", "[\"\xED\xA0\x80\"]"},
      {"lone surrogate", R"(["\ud800"])"},
      {"unknown escape", R"(["\x41"])"},
      {"raw newline in a text", "[\"a\nb\"]"},
      {"two words", "truefalse"},
  };
  for (const auto& [name, text] : bad) {
    SCOPED_TRACE(name);
    EXPECT_THAT(refusal_of(text), StartsWith("a.json: is not valid JSON: "));
  }
}

TEST(JsonReader, RefusesAKeyThatIsThereTwice) {
  EXPECT_EQ(refusal_of(R"({"a": 1, "b": 2, "a": 1})"), R"(a.json: "a" occurs twice)");
  EXPECT_EQ(refusal_of(R"([{"x": {"a": 1, "\u0061": 2}}])"), R"(a.json: "a" occurs twice)")
      << "written otherwise, deep inside";
  EXPECT_NO_THROW(static_cast<void>(Json::parse(R"([{"a": 1}, {"a": 2}])", "a.json")));
}

TEST(JsonReader, GoesSixtyFourLevelsDeep) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(static_cast<void>(Json::parse(nested(64), "a.json")));
  EXPECT_THAT(refusal_of(nested(65)), HasSubstr("too deep"));
  EXPECT_THAT(refusal_of(std::string(200'000, '[')), HasSubstr("is not valid JSON"));
}

TEST(JsonReader, TakesAnyValueAtTheTop) {
  EXPECT_EQ(Json::parse("7", "a").integer(), 7);
  EXPECT_EQ(Json::parse(" \"x\"\n", "a").text(), "x");
  EXPECT_TRUE(Json::parse("null", "a").is(Kind::null));
}

TEST(JsonValues, SayWhatTheyAreInsteadOfWhatWasAsked) {
  const Json json = Json::parse(R"({"n": 1.5, "t": "x", "o": {}, "b": true, "z": null, "l": []})", "c.json");
  EXPECT_EQ(refusal([&] { (void)json.integer("n"); }), "c.json: \"n\" is a number; expected a whole number");
  EXPECT_EQ(refusal([&] { (void)json.real("t"); }), "c.json: \"t\" is a text; expected a number");
  EXPECT_EQ(refusal([&] { (void)json.text("o"); }), "c.json: \"o\" is an object; expected a text");
  EXPECT_EQ(refusal([&] { (void)json.list("b"); }), "c.json: \"b\" is true or false; expected a list");
  EXPECT_EQ(refusal([&] { (void)json.object("z"); }), "c.json: \"z\" is null; expected an object");
  EXPECT_EQ(refusal([&] { (void)json.boolean("l"); }), "c.json: \"l\" is a list; expected true or false");
  EXPECT_EQ(refusal([&] { (void)json.at("gone"); }), "c.json: \"gone\" is missing");
  EXPECT_EQ(refusal([&] { (void)json.integer(); }),
            "c.json: the value is an object; expected a whole number");
  EXPECT_EQ(refusal([&] { (void)json.at("n").at("x"); }),
            "c.json: the value is a number; expected an object");
}

TEST(JsonValues, StandInForWhatIsAbsentOrNull) {
  const Json json = Json::parse(R"({"n": 3, "z": null, "t": "x", "b": false, "r": 0.25})", "c.json");
  EXPECT_EQ(json.integer_or("n", 9), 3);
  EXPECT_EQ(json.integer_or("z", 9), 9);
  EXPECT_EQ(json.integer_or("gone", 9), 9);
  EXPECT_EQ(json.real_or("r", 9), 0.25);
  EXPECT_EQ(json.real_or("gone", 9), 9);
  EXPECT_EQ(json.text_or("t", "y"), "x");
  EXPECT_EQ(json.text_or("z", "y"), "y");
  EXPECT_FALSE(json.boolean_or("b", true));
  EXPECT_TRUE(json.boolean_or("gone", true));
  EXPECT_THAT(refusal([&] { (void)json.integer_or("t", 9); }), HasSubstr("\"t\" is a text"))
      << "something else is not absent";
}

TEST(JsonValues, NamesInMessagesCannotSteerATerminal) {
  const Json json = Json::parse("{}", "a\x1b[31m.json");
  const std::string text = refusal([&] { (void)json.at("k\n\x07"); });
  EXPECT_EQ(text, "a\\x1b[31m.json: \"k\\n\\x07\" is missing");
  EXPECT_LE(refusal([&] { (void)json.at(std::string(5000, 'k')); }).size(), 300U);
  EXPECT_LE(refusal_of("{\"" + std::string(5000, 'k') + "\":1,\"" + std::string(5000, 'k') + "\":1}").size(),
            300U);
}

TEST(JsonFiles, AreReadAndLimited) {
  const testing::TempFolder folder;
  const std::string path = folder.path("a.json");
  std::ofstream(path) << R"({"a": [1, 2]})";
  EXPECT_EQ(Json::read(path).list("a").items().size(), 2U);
  EXPECT_NO_THROW(static_cast<void>(Json::read(path, 13)));
  try {
    static_cast<void>(Json::read(path, 12));
    FAIL() << "accepted";
  } catch (const Error& error) { EXPECT_THAT(error.what(), HasSubstr(path)); }
  EXPECT_THROW(static_cast<void>(Json::read(folder.path("absent.json"))), Error);
}

TEST(JsonText, QuotesWhatMustBeQuoted) {
  EXPECT_EQ(json_quoted("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(json_quoted("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(json_quoted(std::string_view("\0\x1b\x7f", 3)), R"("\u0000\u001b\u007f")");
  EXPECT_EQ(json_quoted("é字"), "\"é字\"");
  for (int c = 0; c < 128; ++c) {
    const std::string one(1, static_cast<char>(c));
    EXPECT_EQ(Json::parse(json_quoted(one), "a").text(), one) << c;
  }
}

}  // namespace
}  // namespace headlight::io
