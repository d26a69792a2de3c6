#include "io/json.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::io {
namespace {

constexpr std::size_t kDepth = 64;

std::string_view name_of(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null: return "null";
    case Json::Kind::boolean: return "true or false";
    case Json::Kind::integer: return "a whole number";
    case Json::Kind::real: return "a number";
    case Json::Kind::text: return "a text";
    case Json::Kind::list: return "a list";
    case Json::Kind::object: return "an object";
  }
  return "?";
}

[[noreturn]] void refuse_json(const std::string& name, const std::string& what, const char* code = "form") {
  throw Error(ErrorKind::input, concat("json.", code), concat(escaped(name), ": ", what));
}

}  // namespace

// simdjson's tape, copied into values that outlive it.
class JsonBuilder {
 public:
  explicit JsonBuilder(std::shared_ptr<const std::string> name) : name_(std::move(name)) {}

  Json build(simdjson::dom::element element) const {
    Json json;
    json.name_ = name_;
    switch (element.type()) {
      case simdjson::dom::element_type::NULL_VALUE: break;
      case simdjson::dom::element_type::BOOL:
        json.kind_ = Json::Kind::boolean;
        json.boolean_ = element.get_bool().value();
        break;
      case simdjson::dom::element_type::INT64:
        json.kind_ = Json::Kind::integer;
        json.integer_ = element.get_int64().value();
        break;
      case simdjson::dom::element_type::UINT64:  // above 2^63: only a real can represent it
      case simdjson::dom::element_type::DOUBLE:
        json.kind_ = Json::Kind::real;
        json.real_ = element.get_double().value();
        break;
      case simdjson::dom::element_type::STRING:
        json.kind_ = Json::Kind::text;
        json.text_ = std::string(element.get_string().value());
        break;
      case simdjson::dom::element_type::ARRAY: fill_list(element.get_array().value(), json); break;
      case simdjson::dom::element_type::OBJECT: fill_object(element.get_object().value(), json); break;
    }
    return json;
  }

 private:
  void fill_list(simdjson::dom::array list, Json& json) const {
    json.kind_ = Json::Kind::list;
    json.items_.reserve(list.size());
    for (const simdjson::dom::element item : list) json.items_.push_back(build(item));
  }

  void fill_object(simdjson::dom::object object, Json& json) const {
    json.kind_ = Json::Kind::object;
    for (const simdjson::dom::key_value_pair field : object) {
      json.keys_.emplace_back(field.key);
      json.items_.push_back(build(field.value));
    }
    std::vector<std::string_view> sorted(json.keys_.begin(), json.keys_.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      refuse_json(*name_, concat("\"", escaped(*twice, 80), "\" occurs twice"), "twice");
  }

  std::shared_ptr<const std::string> name_;
};

Json Json::parse(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) refuse_json(name, "is not valid JSON: it is empty");
  simdjson::dom::parser parser;
  if (parser.allocate(std::max<std::size_t>(bytes.size(), 64), kDepth) != simdjson::SUCCESS)
    throw std::bad_alloc();
  simdjson::dom::element root;
  const auto problem = parser.parse(bytes.data(), bytes.size()).get(root);
  if (problem == simdjson::MEMALLOC) throw std::bad_alloc();
  if (problem != simdjson::SUCCESS)
    refuse_json(name, concat("is not valid JSON: ", simdjson::error_message(problem)));
  return JsonBuilder(std::make_shared<const std::string>(name)).build(root);
}

Json Json::read(const std::string& path, std::uint64_t limit) {
  const std::vector<std::byte> bytes = read_file(path, limit);
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

void Json::refuse_kind(Kind wanted, std::string_view key) const {
  const std::string what = key.empty() ? std::string("the value") : concat("\"", escaped(key, 80), "\"");
  refuse_json(*name_, concat(what, " is ", name_of(kind_), "; expected ", name_of(wanted)), "kind");
}

bool Json::boolean() const {
  if (kind_ != Kind::boolean) refuse_kind(Kind::boolean, "");
  return boolean_;
}
std::int64_t Json::integer() const {
  if (kind_ != Kind::integer) refuse_kind(Kind::integer, "");
  return integer_;
}
double Json::real() const {
  if (kind_ == Kind::integer) return static_cast<double>(integer_);
  if (kind_ != Kind::real) refuse_kind(Kind::real, "");
  return real_;
}
const std::string& Json::text() const {
  if (kind_ != Kind::text) refuse_kind(Kind::text, "");
  return text_;
}

const Json* Json::find(std::string_view key) const noexcept {
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i] == key) return &items_[i];
  return nullptr;
}
const Json& Json::at(std::string_view key) const {
  if (kind_ != Kind::object) refuse_kind(Kind::object, "");
  const Json* found = find(key);
  if (found == nullptr) refuse_json(*name_, concat("\"", escaped(key, 80), "\" is missing"), "missing");
  return *found;
}

bool Json::boolean(std::string_view key) const {
  const Json& value = at(key);
  if (value.kind_ != Kind::boolean) value.refuse_kind(Kind::boolean, key);
  return value.boolean_;
}
std::int64_t Json::integer(std::string_view key) const {
  const Json& value = at(key);
  if (value.kind_ != Kind::integer) value.refuse_kind(Kind::integer, key);
  return value.integer_;
}
double Json::real(std::string_view key) const {
  const Json& value = at(key);
  if (value.kind_ != Kind::integer && value.kind_ != Kind::real) value.refuse_kind(Kind::real, key);
  return value.real();
}
const std::string& Json::text(std::string_view key) const {
  const Json& value = at(key);
  if (value.kind_ != Kind::text) value.refuse_kind(Kind::text, key);
  return value.text_;
}
const Json& Json::list(std::string_view key) const {
  const Json& value = at(key);
  if (value.kind_ != Kind::list) value.refuse_kind(Kind::list, key);
  return value;
}
const Json& Json::object(std::string_view key) const {
  const Json& value = at(key);
  if (value.kind_ != Kind::object) value.refuse_kind(Kind::object, key);
  return value;
}

namespace {
bool given(const Json* value) { return value != nullptr && !value->is(Json::Kind::null); }
}  // namespace

bool Json::boolean_or(std::string_view key, bool otherwise) const {
  return given(find(key)) ? boolean(key) : otherwise;
}
std::int64_t Json::integer_or(std::string_view key, std::int64_t otherwise) const {
  return given(find(key)) ? integer(key) : otherwise;
}
double Json::real_or(std::string_view key, double otherwise) const {
  return given(find(key)) ? real(key) : otherwise;
}
std::string Json::text_or(std::string_view key, std::string_view otherwise) const {
  return given(find(key)) ? text(key) : std::string(otherwise);
}

}  // namespace headlight::io
