// Any bytes as JSON: refused with a message, or a tree that comes out of writing and reading again the
// same, whichever instructions the reader uses.
#include <simdjson.h>

#include <string_view>

#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "io/json.h"

namespace headlight::testing {
namespace {

using io::Json;

void write(const Json& json, std::string& to) {
  switch (json.kind()) {
    case Json::Kind::null: to += "null"; break;
    case Json::Kind::boolean: to += json.boolean() ? "true" : "false"; break;
    case Json::Kind::integer: to += std::to_string(json.integer()); break;
    case Json::Kind::real: {
      char digits[40];
      const int n = std::snprintf(digits, sizeof digits, "%.17g", json.real());
      to.append(digits, static_cast<std::size_t>(n));
      // A whole real must stay real.
      if (to.find_first_of(".en", to.size() - static_cast<std::size_t>(n)) == std::string::npos) to += ".0";
      break;
    }
    case Json::Kind::text: to += io::json_quoted(json.text()); break;
    case Json::Kind::list:
    case Json::Kind::object: {
      const bool object = json.is(Json::Kind::object);
      to += object ? '{' : '[';
      for (std::size_t i = 0; i < json.items().size(); ++i) {
        if (i > 0) to += ',';
        if (object) to += io::json_quoted(json.keys()[i]) + ":";
        write(json.items()[i], to);
      }
      to += object ? '}' : ']';
      break;
    }
  }
}

// The tree as text, or why there is none.
struct Read {
  bool good = false;
  std::string text;
};
Read read(std::string_view bytes) {
  try {
    Read done{.good = true, .text = {}};
    write(Json::parse(bytes, "fuzz.json"), done.text);
    return done;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) fail(error.what());
    check_message(error.what());
    if (std::string_view(error.what()).substr(0, 11) != "fuzz.json: ") fail(error.what());
    return {.good = false, .text = error.what()};
  }
}

const simdjson::implementation* plain_reader() {
  for (const simdjson::implementation* one : simdjson::get_available_implementations()) {
    if (one->name() == "fallback") return one;
  }
  return nullptr;
}

}  // namespace
}  // namespace headlight::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight::testing;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Read first = read(bytes);
  if (first.good) {
    const Read second = read(first.text);
    if (!second.good || second.text != first.text) fail(first.text + " became " + second.text);
  }
  static const simdjson::implementation* const plain = plain_reader();
  static const simdjson::implementation* const fast = simdjson::get_active_implementation();
  if (plain != nullptr && plain != fast) {
    simdjson::get_active_implementation() = plain;
    const Read again = read(bytes);
    simdjson::get_active_implementation() = fast;
    if (again.good != first.good || (first.good && again.text != first.text))
      fail("scalar and SIMD disagree: " + first.text + " and " + again.text);
  }
  return 0;
}
