#include "text/jinja_value.h"

#include <array>
#include <charconv>
#include <cmath>

namespace headlight::text::jinja {
namespace {

constexpr int kDeepest = 64;

// As Python writes a float: the shortest digits that round-trip, and always with a point.
std::string printed_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> digits{};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), problem == std::errc() ? end : digits.data());
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string printed_integer(std::int64_t value) { return std::to_string(value); }

void print_json_text(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      default:
        if (byte < 0x20) (out += "\\u00") += {kHex[byte >> 4U], kHex[byte & 15U]};
        else out += c;
    }
  }
  out += '"';
}

void quote(std::string& out, std::string_view text) {
  const char mark =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += mark;
  for (const char c : text) {
    if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (c == '\\' || c == mark) (out += '\\') += c;
    else out += c;
  }
  out += mark;
}

void new_line(std::string& out, int indent, int depth) {
  if (indent >= 0)
    out.append("\n").append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
}

}  // namespace

namespace {

void add(Extent& whole, const Extent& part) {
  whole.size += part.size;
  if (part.depth + 1 > whole.depth) whole.depth = part.depth + 1;
}

}  // namespace

Value::Value(List list) {
  Extent extent;
  for (const Value& item : list) add(extent, item.extent());
  is_ = std::make_shared<const ListBody>(ListBody{std::move(list), extent});
}

Value Value::tuple(List list) {
  Value out(std::move(list));
  auto body = *out.pointed<const ListBody>();
  body.tuple = true;
  out.is_ = std::make_shared<const ListBody>(std::move(body));
  return out;
}

Value::Value(Object object) {
  for (const auto& [key, value] : object.entries) add(object.extent, value.extent());
  is_ = std::make_shared<Object>(std::move(object));
}

Extent Value::extent() const {
  if (const std::string* t = text()) return {1 + t->size() / 16, 0};
  if (const auto* body = pointed<const ListBody>()) return body->extent;
  if (const Object* o = object()) return o->extent;
  return {};
}

const Value* Object::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

void Object::set(std::string_view key, Value value) {
  for (auto& [name, old] : entries) {
    if (name != key) continue;
    old = std::move(value);
    return;
  }
  entries.emplace_back(key, std::move(value));
}

const Value* Arguments::find(std::size_t place, std::string_view name) const {
  if (place < places.size()) return &places[place];
  for (const auto& [key, value] : names)
    if (key == name) return &value;
  return nullptr;
}

std::int64_t Value::integer() const {
  if (const bool* truth = std::get_if<bool>(&is_)) return *truth ? 1 : 0;
  const auto* whole = std::get_if<std::int64_t>(&is_);
  return whole != nullptr ? *whole : 0;
}

double Value::real() const {
  const double* real = std::get_if<double>(&is_);
  return real != nullptr ? *real : static_cast<double>(integer());
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return real() != 0;
  if (const std::string* t = text()) return !t->empty();
  if (const List* l = list()) return !l->empty();
  if (const Object* o = object()) return o->changes || !o->entries.empty();
  return true;
}

std::string_view Value::kind() const {
  static constexpr std::array<std::string_view, 9> kNames = {"undefined",      "none",      "a boolean",
                                                             "a whole number", "a number",  "a text",
                                                             "a list",         "a mapping", "a function"};
  return kNames[is_.index()];
}

bool Value::equals(const Value& other, int depth) const {
  if (depth > kDeepest) return false;
  if (is_number() && other.is_number())
    return is_real() || other.is_real() ? real() == other.real() : integer() == other.integer();
  if (is_.index() != other.is_.index()) return false;
  if (const std::string* t = text()) return *t == *other.text();
  if (const List* l = list()) {
    const List& o = *other.list();
    if (l->size() != o.size()) return false;
    for (std::size_t i = 0; i < l->size(); ++i)
      if (!(*l)[i].equals(o[i], depth + 1)) return false;
    return true;
  }
  if (const Object* o = object()) {
    if (o == other.object()) return true;
    if (o->changes || o->entries.size() != other.object()->entries.size()) return false;
    for (const auto& [key, value] : o->entries) {
      const Value* also = other.object()->find(key);
      if (also == nullptr || !value.equals(*also, depth + 1)) return false;
    }
    return true;
  }
  return is_undefined() || is_none() || function() == other.function();
}

std::string Value::printed() const {
  if (is_undefined()) return "";
  if (const std::string* t = text()) return *t;
  std::string out;
  print_quoted(out);
  return out;
}

void Value::print_quoted(std::string& out, int depth) const {
  if (depth > kDeepest) {
    out += "...";
  } else if (const std::string* t = text()) {
    quote(out, *t);
  } else if (is_undefined()) {
    out += "Undefined";
  } else if (is_none()) {
    out += "None";
  } else if (is_boolean()) {
    out += truth() ? "True" : "False";
  } else if (is_integer()) {
    out += printed_integer(integer());
  } else if (is_real()) {
    out += printed_real(real());
  } else if (const List* l = list()) {
    const bool tuple = pointed<const ListBody>()->tuple;
    out += tuple ? '(' : '[';
    for (std::size_t i = 0; i < l->size(); ++i) {
      if (i > 0) out += ", ";
      (*l)[i].print_quoted(out, depth + 1);
    }
    out += tuple ? ')' : ']';
  } else if (const Object* o = object(); o != nullptr && !o->changes) {
    out += '{';
    for (std::size_t i = 0; i < o->entries.size(); ++i) {
      if (i > 0) out += ", ";
      quote(out, o->entries[i].first);
      out += ": ";
      o->entries[i].second.print_quoted(out, depth + 1);
    }
    out += '}';
  } else {
    (out += '<').append(o != nullptr ? "namespace" : "function") += '>';
  }
}

std::string_view Value::print_json(std::string& out, int indent, int depth) const {
  const std::string_view comma = indent < 0 ? ", " : ",";
  if (depth > kDeepest) return "is nested too deeply for JSON";
  if (is_none()) {
    out += "null";
  } else if (is_boolean()) {
    out += truth() ? "true" : "false";
  } else if (is_number()) {
    if (is_real() && !std::isfinite(real())) return "is not finite, which JSON cannot represent";
    out += is_real() ? printed_real(real()) : printed_integer(integer());
  } else if (const std::string* t = text()) {
    print_json_text(out, *t);
  } else if (const List* l = list()) {
    out += '[';
    for (std::size_t i = 0; i < l->size(); ++i) {
      if (i > 0) out += comma;
      new_line(out, indent, depth + 1);
      if (const std::string_view why = (*l)[i].print_json(out, indent, depth + 1); !why.empty()) return why;
    }
    if (!l->empty()) new_line(out, indent, depth);
    out += ']';
  } else if (const Object* o = object(); o != nullptr && !o->changes) {
    out += '{';
    for (std::size_t i = 0; i < o->entries.size(); ++i) {
      if (i > 0) out += comma;
      new_line(out, indent, depth + 1);
      print_json_text(out, o->entries[i].first);
      out += ": ";
      if (const std::string_view why = o->entries[i].second.print_json(out, indent, depth + 1); !why.empty())
        return why;
    }
    if (!o->entries.empty()) new_line(out, indent, depth);
    out += '}';
  } else {
    return "cannot be written as JSON";
  }
  return {};
}

}  // namespace headlight::text::jinja
