#include <algorithm>
#include <cmath>
#include <limits>

#include "core/concat.h"
#include "text/jinja_run.h"
#include "text/unicode.h"

namespace headlight::text::jinja {
namespace {

constexpr std::uint64_t kLargest = 4'000'000;
constexpr std::uint32_t kDeepest = 64;

Value repeated(Meter& meter, const Value& what, std::int64_t times) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 0));
  const Extent one = what.extent();
  if (one.size > 0 && count > kLargest / one.size) meter.refuse("produces a value that is too large");
  meter.charge(count * one.size);
  if (const std::string* text = what.text()) {
    std::string out;
    for (std::uint64_t i = 0; i < count; ++i) out += *text;
    return out;
  }
  List out;
  for (std::uint64_t i = 0; i < count; ++i) out.insert(out.end(), what.list()->begin(), what.list()->end());
  return out;
}

Value integer_result(Meter& meter, std::string_view with, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool too_large = false;
  if (with == "+") too_large = __builtin_add_overflow(a, b, &out);
  else if (with == "-") too_large = __builtin_sub_overflow(a, b, &out);
  else if (with == "*") too_large = __builtin_mul_overflow(a, b, &out);
  else if (b == 0) meter.refuse("divides by zero");
  else if (a == std::numeric_limits<std::int64_t>::min() && b == -1) too_large = true;
  else {  // towards minus infinity, as in Python
    const bool uneven = a % b != 0 && (a % b < 0) != (b < 0);
    out = with == "//" ? a / b - (uneven ? 1 : 0) : a % b + (uneven ? b : 0);
  }
  if (too_large) meter.refuse("produces a number that is too large");
  return out;
}

Value real_result(Meter& meter, std::string_view with, double a, double b) {
  if (with == "+") return a + b;
  if (with == "-") return a - b;
  if (with == "*") return a * b;
  if (b == 0) meter.refuse("divides by zero");
  if (with == "/") return a / b;
  const double whole = std::floor(a / b);
  return with == "//" ? whole : a - whole * b;
}

// A place counted from the end where it is negative.
std::int64_t place_in(std::int64_t place, std::int64_t size) { return place < 0 ? place + size : place; }

List characters_of(Meter& meter, std::string_view text) {
  meter.charge(text.size());
  List out;
  for (std::size_t at = 0; at < text.size(); at += length_from(text[at]))
    out.emplace_back(text.substr(at, length_from(text[at])));
  return out;
}

}  // namespace

const Value& Meter::checked(const Value& value) {
  const Extent extent = value.extent();
  if (extent.size > kLargest) refuse("produces a value that is too large");
  if (extent.depth > kDeepest) refuse("makes a value that is nested too deeply");
  return value;
}

Value binary(Meter& meter, std::string_view with, const Value& left, const Value& right) {
  if (with == "~") {
    std::string out = left.printed();
    out += right.printed();
    meter.charge_bytes(out.size());
    return out;
  }
  if (left.is_number() && right.is_number()) {
    const bool real = left.is_real() || right.is_real() || with == "/";
    return real ? real_result(meter, with, left.real(), right.real())
                : integer_result(meter, with, left.integer(), right.integer());
  }
  if (with == "+" && left.is_text() && right.is_text()) {
    meter.charge_bytes(left.text()->size() + right.text()->size());
    return *left.text() + *right.text();
  }
  if (with == "+" && left.is_list() && right.is_list()) {
    List all = *left.list();
    all.insert(all.end(), right.list()->begin(), right.list()->end());
    meter.charge(all.size());
    return all;
  }
  const bool left_repeats = left.is_text() || left.is_list(),
             right_repeats = right.is_text() || right.is_list();
  if (with == "*" && left_repeats && right.is_integer()) return repeated(meter, left, right.integer());
  if (with == "*" && right_repeats && left.is_integer()) return repeated(meter, right, left.integer());
  for (const Value* side : {&left, &right})
    if (side->is_undefined()) meter.refuse(concat("\"", side->undefined_name(), "\" is undefined"));
  meter.refuse(concat("\"", with, "\" of ", left.kind(), " and ", right.kind()));
}

int order(Meter& meter, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    const double a = left.real(), b = right.real();
    return a < b ? -1 : a > b ? 1 : 0;
  }
  if (left.is_text() && right.is_text()) {
    meter.charge_bytes(std::min(left.text()->size(), right.text()->size()));
    const int compared = left.text()->compare(*right.text());
    return compared < 0 ? -1 : compared > 0 ? 1 : 0;
  }
  meter.refuse(concat("cannot compare ", left.kind(), " with ", right.kind()));
}

bool contains(Meter& meter, const Value& all, const Value& part) {
  meter.charge(all.extent().size);
  if (const std::string* text = all.text()) {
    if (!part.is_text()) meter.refuse(concat("looks for ", part.kind(), " in a text"));
    return text->find(*part.text()) != std::string::npos;
  }
  if (const Object* object = all.object()) return part.is_text() && object->find(*part.text()) != nullptr;
  if (const List* list = all.list())
    return std::any_of(list->begin(), list->end(), [&](const Value& v) { return v.equals(part); });
  if (all.is_undefined()) return false;
  meter.refuse(concat("looks for a value in ", all.kind()));
}

bool compare(Meter& meter, std::string_view with, const Value& left, const Value& right) {
  if (with == "in") return contains(meter, right, left);
  if (with == "not in") return !contains(meter, right, left);
  if (with == "==" || with == "!=") {
    meter.charge(std::min(left.extent().size, right.extent().size));
    return left.equals(right) == (with == "==");
  }
  const int way = order(meter, left, right);
  if (with == "<") return way < 0;
  if (with == ">") return way > 0;
  return with == "<=" ? way <= 0 : way >= 0;
}

Value item_of(Meter& meter, const Value& all, const Value& key) {
  if (const Object* object = all.object()) {
    meter.charge(object->entries.size() / 8);
    const Value* found = key.is_text() ? object->find(*key.text()) : nullptr;
    return found != nullptr ? *found : Value(Undefined{key.printed()});
  }
  if (all.is_undefined())
    meter.refuse(concat("\"", all.undefined_name(), "\" is undefined, so it has no parts"));
  if ((all.is_list() || all.is_text()) && (key.is_integer() || key.is_boolean())) {
    const std::int64_t size = length_of(meter, all), place = place_in(key.integer(), size);
    if (place < 0 || place >= size) return Undefined{key.printed()};
    if (all.is_list()) return (*all.list())[static_cast<std::size_t>(place)];
    return characters_of(meter, *all.text())[static_cast<std::size_t>(place)];
  }
  return Undefined{key.printed()};
}

Value slice_of(Meter& meter, const Value& all, const Value& from, const Value& to, const Value& step) {
  if (all.is_undefined()) return item_of(meter, all, from);  // throws
  if (!all.is_list() && !all.is_text()) return Undefined{"a slice"};
  const auto given = [&](const Value& v) {
    if (v.is_undefined() || v.is_none()) return false;
    if (!v.is_integer()) meter.refuse(concat("a slice needs whole numbers, found ", v.kind()));
    return true;
  };
  const List items = items_of(meter, all);
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t by = given(step) ? step.integer() : 1;
  if (by == 0) meter.refuse("a slice with a step of 0");
  const auto end = [&](const Value& v, std::int64_t otherwise) {
    if (!given(v)) return otherwise;
    const std::int64_t lowest = by < 0 ? -1 : 0, highest = by < 0 ? size - 1 : size;
    return std::clamp(v.integer() < 0 ? std::max(v.integer(), -size - 1) + size : std::min(v.integer(), size),
                      lowest, highest);
  };
  const std::int64_t first = end(from, by < 0 ? size - 1 : 0), last = end(to, by < 0 ? -1 : size);
  const std::int64_t stride = std::clamp<std::int64_t>(by, -size - 1, size + 1);
  List out;
  for (std::int64_t i = first; by < 0 ? i > last : i < last; i += stride)
    out.push_back(items[static_cast<std::size_t>(i)]);
  if (all.is_list()) return out;
  std::string text;
  for (const Value& character : out) text += *character.text();
  return text;
}

List items_of(Meter& meter, const Value& all) {
  if (const List* list = all.list()) {
    meter.charge(list->size());
    return *list;
  }
  if (const std::string* text = all.text()) return characters_of(meter, *text);
  List out;
  if (const Object* object = all.object(); object != nullptr && !object->changes) {
    meter.charge(object->entries.size());
    for (const auto& [key, value] : object->entries) out.emplace_back(key);
    return out;
  }
  if (all.is_undefined()) return out;
  meter.refuse(concat("cannot loop over ", all.kind()));
}

std::int64_t length_of(Meter& meter, const Value& all) {
  if (const List* list = all.list()) return static_cast<std::int64_t>(list->size());
  if (const Object* object = all.object()) return static_cast<std::int64_t>(object->entries.size());
  if (const std::string* text = all.text()) {
    meter.charge_bytes(text->size());
    return static_cast<std::int64_t>(count_characters(*text));
  }
  if (all.is_undefined()) return 0;
  meter.refuse(concat("asks for the length of ", all.kind()));
}

}  // namespace headlight::text::jinja
