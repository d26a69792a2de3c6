// Methods of texts and mappings, and the functions on texts that filters use as well.
#include <utf8proc.h>

#include <algorithm>

#include "core/concat.h"
#include "text/jinja_run.h"
#include "text/unicode.h"

namespace headlight::text::jinja {
namespace {

bool is_space(char32_t code) { return is_one_of(code, kSpace) || (code >= 0x1C && code <= 0x1F); }

void append_uppercase(std::string& text, char32_t code) {
  append(text, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
}

bool strips(std::string_view character, const std::string* characters) {
  return characters != nullptr ? characters->find(character) != std::string::npos
                               : is_space(character_at(character, 0).code);
}

List split(Meter& meter, std::string_view text, const Arguments& with) {
  const Value* separator = with.find(0, "sep");
  const std::int64_t most = integer_or(meter, with, 1, "maxsplit", -1);
  List out;
  if (separator == nullptr || separator->is_none()) {  // at any white space, without empty parts
    std::string_view rest = stripped(text, Ends::left, nullptr);
    while (!rest.empty()) {
      if (most >= 0 && static_cast<std::int64_t>(out.size()) == most) {
        out.emplace_back(rest);
        break;
      }
      std::size_t end = 0;
      while (end < rest.size() && !is_space(character_at(rest, end).code)) end += length_from(rest[end]);
      out.emplace_back(rest.substr(0, end));
      rest = stripped(rest.substr(end), Ends::left, nullptr);
    }
    return out;
  }
  const std::string& between = text_argument(meter, with, 0, "sep");
  if (between.empty()) meter.refuse("splits a text at an empty separator");
  while (most < 0 || static_cast<std::int64_t>(out.size()) < most) {
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos) break;
    out.emplace_back(text.substr(0, at));
    text.remove_prefix(at + between.size());
  }
  out.emplace_back(text);
  return out;
}

List split_from_right(Meter& meter, std::string_view text, const Arguments& with) {
  const std::string& between = text_argument(meter, with, 0, "sep");
  const std::int64_t most = integer_or(meter, with, 1, "maxsplit", -1);
  if (between.empty()) meter.refuse("splits a text at an empty separator");
  List out;
  while (most < 0 || static_cast<std::int64_t>(out.size()) < most) {
    const std::size_t at = text.rfind(between);
    if (at == std::string_view::npos) break;
    out.emplace_back(text.substr(at + between.size()));
    text = text.substr(0, at);
  }
  out.emplace_back(text);
  std::reverse(out.begin(), out.end());
  return out;
}

List lines_of(std::string_view text) {
  List out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + (text.substr(end).starts_with("\r\n") ? 2 : 1), text.size()));
  }
  return out;
}

// startswith and endswith take one text or several.
bool has_end(Meter& meter, std::string_view text, const Arguments& with, bool at_start) {
  const Value* asked = with.find(0, "prefix");
  const List* several = asked != nullptr ? asked->list() : nullptr;
  const auto has = [&](const std::string& end) {
    return at_start ? text.starts_with(end) : text.ends_with(end);
  };
  if (several == nullptr) return has(text_argument(meter, with, 0, "prefix"));
  return std::any_of(several->begin(), several->end(),
                     [&](const Value& v) { return v.is_text() && has(*v.text()); });
}

std::string joined(Meter& meter, const std::string& between, const Arguments& with) {
  const Value* list = with.find(0, "iterable");
  if (list == nullptr) meter.refuse("join() needs a list");
  std::string out;
  bool first = true;
  for (const Value& part : items_of(meter, *list)) {
    if (!part.is_text()) meter.refuse(concat("joins texts, found ", part.kind()));
    if (!first) out += between;
    first = false;
    meter.charge_bytes(between.size() + part.text()->size());
    out += *part.text();
  }
  return out;
}

bool all_are(std::string_view text, unsigned classes) {
  for (std::size_t at = 0; at < text.size(); at += length_from(text[at]))
    if (!is_one_of(character_at(text, at).code, classes)) return false;
  return !text.empty();
}

std::optional<Value> text_method(Meter& meter, const std::string& text, std::string_view name,
                                 const Arguments& with) {
  meter.charge_bytes(text.size());
  const Value* first = with.find(0, "chars");
  const std::string* characters = first != nullptr ? first->text() : nullptr;
  if (name == "strip") return stripped(text, Ends::both, characters);
  if (name == "lstrip") return stripped(text, Ends::left, characters);
  if (name == "rstrip") return stripped(text, Ends::right, characters);
  if (name == "split") return split(meter, text, with);
  if (name == "rsplit") return split_from_right(meter, text, with);
  if (name == "splitlines") return lines_of(text);
  if (name == "startswith") return has_end(meter, text, with, true);
  if (name == "endswith") return has_end(meter, text, with, false);
  if (name == "upper") return in_case(text, true);
  if (name == "lower") return in_case(text, false);
  if (name == "title") return title_of(text);
  if (name == "capitalize") return capitalised(text);
  if (name == "join") return joined(meter, text, with);
  if (name == "replace")
    return replaced(meter, text, text_argument(meter, with, 0, "old"), text_argument(meter, with, 1, "new"),
                    integer_or(meter, with, 2, "count", -1));
  if (name == "removeprefix") {
    const std::string& part = text_argument(meter, with, 0, "prefix");
    return text.starts_with(part) ? text.substr(part.size()) : text;
  }
  if (name == "removesuffix") {
    const std::string& part = text_argument(meter, with, 0, "suffix");
    return text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text;
  }
  if (name == "find") {
    const std::size_t at = text.find(text_argument(meter, with, 0, "sub"));
    if (at == std::string::npos) return Value(std::int64_t{-1});
    return static_cast<std::int64_t>(count_characters(std::string_view(text).substr(0, at)));
  }
  if (name == "count") {
    const std::string& part = text_argument(meter, with, 0, "sub");
    std::int64_t count = 0;
    for (std::size_t at = 0; !part.empty() && (at = text.find(part, at)) != std::string::npos;
         at += part.size())
      ++count;
    return count;
  }
  if (name == "isdigit" || name == "isnumeric") return all_are(text, kNumber);
  if (name == "isalpha") return all_are(text, kLetter);
  if (name == "isalnum") return all_are(text, kLetter | kNumber);
  if (name == "isspace") return all_are(text, kSpace);
  return std::nullopt;
}

std::optional<Value> object_method(Meter& meter, const Object& object, std::string_view name,
                                   const Arguments& with) {
  if (name == "get") {
    const Value* found = object.find(text_argument(meter, with, 0, "key"));
    if (found != nullptr) return *found;
    const Value* otherwise = with.find(1, "default");
    return otherwise != nullptr ? *otherwise : Value(None{});
  }
  if (name != "items" && name != "keys" && name != "values") return std::nullopt;
  meter.charge(object.entries.size());
  List out;
  for (const auto& [key, value] : object.entries) {
    if (name == "items") out.push_back(Value::tuple({Value(key), value}));
    else out.push_back(name == "keys" ? Value(key) : value);
  }
  return out;
}

}  // namespace

std::string_view stripped(std::string_view text, Ends ends, const std::string* characters) {
  if (ends != Ends::right)
    while (!text.empty() && strips(text.substr(0, length_from(text[0])), characters))
      text.remove_prefix(length_from(text[0]));
  while (ends != Ends::left && !text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && is_continuation(text[last])) --last;
    if (!strips(text.substr(last), characters)) break;
    text = text.substr(0, last);
  }
  return text;
}

std::string replaced(Meter& meter, std::string_view text, std::string_view old, std::string_view fresh,
                     std::int64_t most) {
  if (old.empty()) meter.refuse("replaces an empty text");
  std::string out;
  for (std::int64_t done = 0; most < 0 || done < most; ++done) {
    const std::size_t at = text.find(old);
    if (at == std::string_view::npos) break;
    meter.charge(1 + (at + fresh.size()) / 16);
    out.append(text.substr(0, at)).append(fresh);
    text.remove_prefix(at + old.size());
  }
  return out.append(text);
}

std::string in_case(std::string_view text, bool upper) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += length_from(text[at])) {
    const Character c = character_at(text, at);
    if (!upper) append_lowercase(out, c.code);
    else append_uppercase(out, c.code);
  }
  return out;
}

std::string title_of(std::string_view text) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); at += length_from(text[at])) {
    const Character c = character_at(text, at);
    if (inside) append_lowercase(out, c.code);
    else append_uppercase(out, c.code);
    inside = is_one_of(c.code, kLetter);
  }
  return out;
}

std::string capitalised(std::string_view text) {
  const std::size_t first = text.empty() ? 0 : length_from(text[0]);
  return in_case(text.substr(0, first), true) + in_case(text.substr(first), false);
}

const std::string& text_argument(const Meter& meter, const Arguments& with, std::size_t place,
                                 std::string_view name) {
  const Value* value = with.find(place, name);
  if (value != nullptr && value->is_text()) return *value->text();
  meter.refuse(concat("needs a text (", name, "), found ", value != nullptr ? value->kind() : "nothing"));
}

std::int64_t integer_or(const Meter& meter, const Arguments& with, std::size_t place, std::string_view name,
                        std::int64_t otherwise) {
  const Value* value = with.find(place, name);
  if (value == nullptr || value->is_none()) return otherwise;
  if (value->is_integer() || value->is_boolean()) return value->integer();
  meter.refuse(concat("needs a whole number (", name, "), found ", value->kind()));
}

std::optional<Value> call_method(Meter& meter, const Value& self, std::string_view name,
                                 const Arguments& with) {
  if (const std::string* text = self.text()) return text_method(meter, *text, name, with);
  if (const Object* object = self.object()) return object_method(meter, *object, name, with);
  return std::nullopt;
}

}  // namespace headlight::text::jinja
