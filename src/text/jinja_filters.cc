// value | filter
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "text/jinja_run.h"
#include "text/jinja_syntax.h"

namespace headlight::text::jinja {
namespace {

using Filter = Value (*)(Meter&, const Value&, const Arguments&);

Value filter_default(Meter&, const Value& value, const Arguments& with) {
  const Value* otherwise = with.find(0, "default_value");
  const Value* falsy = with.find(1, "boolean");
  const bool missing = value.is_undefined() || (falsy != nullptr && falsy->truth() && !value.truth());
  if (!missing) return value;
  return otherwise != nullptr ? *otherwise : Value("");
}

Value filter_tojson(Meter& meter, const Value& value, const Arguments& with) {
  meter.charge(2 * value.extent().size);
  const std::int64_t indent = integer_or(meter, with, 0, "indent", -1);
  if (indent > 16) meter.refuse("tojson: indent must be between 0 and 16");
  std::string out;
  if (const std::string_view why = value.print_json(out, static_cast<int>(indent)); !why.empty())
    meter.refuse(concat(value.kind(), " ", why));
  return out;
}

// The part of a value at a path such as "function.name".
Value part_at(Meter& meter, Value value, std::string_view path) {
  while (true) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = item_of(meter, value, Value(path.substr(0, dot)));
    if (dot == path.size()) return value;
    path.remove_prefix(dot + 1);
  }
}

Value filter_join(Meter& meter, const Value& value, const Arguments& with) {
  const std::string between = with.find(0, "d") != nullptr ? text_argument(meter, with, 0, "d") : "";
  const Value* part = with.find(1, "attribute");
  std::string out;
  bool first = true;
  for (const Value& item : items_of(meter, value)) {
    if (!first) out += between;
    first = false;
    const std::string text = (part != nullptr ? part_at(meter, item, part->printed()) : item).printed();
    meter.charge_bytes(text.size() + between.size());
    out += text;
  }
  return out;
}

Value filter_indent(Meter& meter, const Value& value, const Arguments& with) {
  const std::int64_t width = integer_or(meter, with, 0, "width", 4);
  const Value *first = with.find(1, "first"), *blank = with.find(2, "blank");
  if (width < 0 || width > 1000) meter.refuse("indent: the width must be between 0 and 1000");
  const std::string spaces(static_cast<std::size_t>(width), ' '), text = value.printed();
  std::string out = first != nullptr && first->truth() ? spaces : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool empty_line = i + 1 >= text.size() || text[i + 1] == '\n';
    if (text[i] != '\n' || (empty_line && !(blank != nullptr && blank->truth()))) continue;
    meter.charge(1 + spaces.size() / 16);
    out += spaces;
  }
  return out;
}

Value filter_integer(Meter& meter, const Value& value, const Arguments& with) {
  if (value.is_real()) {
    if (!(std::abs(value.real()) < 9e18)) meter.refuse("int: the number is too large");
    return static_cast<std::int64_t>(value.real());
  }
  if (value.is_number()) return value.integer();
  std::int64_t out = integer_or(meter, with, 0, "default", 0);
  if (const std::string* text = value.text()) {
    const std::string_view digits = stripped(*text, Ends::both, nullptr);
    std::int64_t read = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), read);
    if (problem == std::errc() && end == digits.data() + digits.size()) out = read;
  }
  return out;
}

Value filter_real(Meter&, const Value& value, const Arguments&) {
  if (value.is_number()) return value.real();
  double out = 0;
  if (const std::string* text = value.text()) {
    const std::string_view digits = stripped(*text, Ends::both, nullptr);
    double read = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), read);
    if (problem == std::errc() && end == digits.data() + digits.size()) out = read;
  }
  return out;
}

Value filter_map(Meter& meter, const Value& value, const Arguments& with) {
  List out;
  const auto named = std::find_if(with.names.begin(), with.names.end(),
                                  [](const auto& n) { return n.first == "attribute"; });
  for (const Value& item : items_of(meter, value)) {
    meter.charge(1);
    if (named != with.names.end()) {
      out.push_back(part_at(meter, item, named->second.printed()));
      continue;
    }
    const std::string& filter = text_argument(meter, with, 0, "filter");
    if (!is_filter(filter) || filter == "map")
      meter.refuse(concat("the filter \"", escaped(filter, 40), "\" is not supported"));
    out.push_back(
        apply_filter(meter, filter, item, {List(with.places.begin() + 1, with.places.end()), with.names}));
  }
  return out;
}

// selectattr and rejectattr take the part's name first; all take a test and its arguments.
Value chosen(Meter& meter, const Value& value, const Arguments& with, bool by_part, bool keep) {
  const std::size_t skip = by_part ? 1 : 0;
  const std::string part = by_part ? text_argument(meter, with, 0, "attribute") : "";
  const std::string test = with.places.size() > skip ? text_argument(meter, with, skip, "test") : "";
  if (!test.empty() && !is_test(test))
    meter.refuse(concat("the test \"", escaped(test, 40), "\" is not supported"));
  Arguments rest;
  for (std::size_t i = skip + 1; i < with.places.size(); ++i) rest.places.push_back(with.places[i]);
  List out;
  for (const Value& item : items_of(meter, value)) {
    const Value looked_at = by_part ? part_at(meter, item, part) : item;
    const bool holds = test.empty() ? looked_at.truth() : apply_test(meter, test, looked_at, rest);
    if (holds == keep) out.push_back(item);
  }
  return out;
}

Value filter_sort(Meter& meter, const Value& value, const Arguments& with) {
  List items = items_of(meter, value);
  const Value *reverse = with.find(0, "reverse"), *part = with.find(2, "attribute");
  const auto key = [&](const Value& v) { return part != nullptr ? part_at(meter, v, part->printed()) : v; };
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    meter.charge(1);
    return reverse != nullptr && reverse->truth() ? order(meter, key(b), key(a)) < 0
                                                  : order(meter, key(a), key(b)) < 0;
  });
  return items;
}

Value filter_dictsort(Meter& meter, const Value& value, const Arguments&) {
  const Object* object = value.object();
  if (object == nullptr) meter.refuse(concat("dictsort of ", value.kind()));
  std::vector<std::pair<std::string, Value>> entries = object->entries;
  meter.charge(8 * entries.size());
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  List out;
  for (auto& [key, item] : entries) out.push_back(Value::tuple({Value(key), item}));
  return out;
}

Value filter_unique(Meter& meter, const Value& value, const Arguments&) {
  List out;
  for (const Value& item : items_of(meter, value)) {
    meter.charge(1 + out.size());
    if (std::none_of(out.begin(), out.end(), [&](const Value& v) { return v.equals(item); }))
      out.push_back(item);
  }
  return out;
}

Value filter_reverse(Meter& meter, const Value& value, const Arguments&) {
  List items = items_of(meter, value);
  std::reverse(items.begin(), items.end());
  if (!value.is_text()) return items;
  std::string text;
  for (const Value& character : items) text += *character.text();
  return text;
}

Value filter_sum(Meter& meter, const Value& value, const Arguments&) {
  Value total(std::int64_t{0});
  for (const Value& item : items_of(meter, value)) total = binary(meter, "+", total, item);
  return total;
}

Value extreme(Meter& meter, const Value& value, int way) {
  Value best;
  for (const Value& item : items_of(meter, value))
    if (best.is_undefined() || order(meter, item, best) == way) best = item;
  return best;
}

Value filter_round(Meter& meter, const Value& value, const Arguments& with) {
  if (!value.is_number()) meter.refuse(concat("round of ", value.kind()));
  if (!value.is_real()) return value.integer();
  const double shift = std::pow(
      10.0, static_cast<double>(std::clamp<std::int64_t>(integer_or(meter, with, 0, "precision", 0), 0, 15)));
  return std::nearbyint(value.real() * shift) / shift;
}

Value filter_trim(Meter&, const Value& value, const Arguments& with) {
  const Value* characters = with.find(0, "chars");
  const std::string text = value.printed();
  return stripped(text, Ends::both, characters != nullptr ? characters->text() : nullptr);
}

Value filter_replace(Meter& meter, const Value& value, const Arguments& with) {
  return replaced(meter, value.printed(), text_argument(meter, with, 0, "old"),
                  text_argument(meter, with, 1, "new"), integer_or(meter, with, 2, "count", -1));
}

Value filter_items(Meter& meter, const Value& value, const Arguments& with) {
  if (value.is_undefined()) return List{};
  if (!value.is_object()) meter.refuse(concat("items of ", value.kind()));
  return *call_method(meter, value, "items", with);
}

struct NamedFilter {
  std::string_view name;
  Filter apply;
};
constexpr NamedFilter kFilters[] = {
    {"abs",
     [](Meter& m, const Value& v, const Arguments&) -> Value {
       if (!v.is_number()) m.refuse(concat("abs of ", v.kind()));
       if (v.is_real()) return std::abs(v.real());
       return v.integer() < 0 ? binary(m, "-", Value(std::int64_t{0}), v) : v;
     }},
    {"capitalize",
     [](Meter&, const Value& v, const Arguments&) -> Value { return capitalised(v.printed()); }},
    {"count", [](Meter& m, const Value& v, const Arguments&) -> Value { return length_of(m, v); }},
    {"d", filter_default},
    {"default", filter_default},
    {"dictsort", filter_dictsort},
    {"first",
     [](Meter& m, const Value& v, const Arguments&) -> Value {
       return item_of(m, Value(items_of(m, v)), Value(std::int64_t{0}));
     }},
    {"float", filter_real},
    {"indent", filter_indent},
    {"int", filter_integer},
    {"items", filter_items},
    {"join", filter_join},
    {"last",
     [](Meter& m, const Value& v, const Arguments&) -> Value {
       return item_of(m, Value(items_of(m, v)), Value(std::int64_t{-1}));
     }},
    {"length", [](Meter& m, const Value& v, const Arguments&) -> Value { return length_of(m, v); }},
    {"list", [](Meter& m, const Value& v, const Arguments&) -> Value { return items_of(m, v); }},
    {"lower", [](Meter&, const Value& v, const Arguments&) -> Value { return in_case(v.printed(), false); }},
    {"map", filter_map},
    {"max", [](Meter& m, const Value& v, const Arguments&) -> Value { return extreme(m, v, 1); }},
    {"min", [](Meter& m, const Value& v, const Arguments&) -> Value { return extreme(m, v, -1); }},
    {"reject",
     [](Meter& m, const Value& v, const Arguments& w) -> Value { return chosen(m, v, w, false, false); }},
    {"rejectattr",
     [](Meter& m, const Value& v, const Arguments& w) -> Value { return chosen(m, v, w, true, false); }},
    {"replace", filter_replace},
    {"reverse", filter_reverse},
    {"round", filter_round},
    {"safe", [](Meter&, const Value& v, const Arguments&) -> Value { return v.printed(); }},
    {"select",
     [](Meter& m, const Value& v, const Arguments& w) -> Value { return chosen(m, v, w, false, true); }},
    {"selectattr",
     [](Meter& m, const Value& v, const Arguments& w) -> Value { return chosen(m, v, w, true, true); }},
    {"sort", filter_sort},
    {"string", [](Meter&, const Value& v, const Arguments&) -> Value { return v.printed(); }},
    {"sum", filter_sum},
    {"title", [](Meter&, const Value& v, const Arguments&) -> Value { return title_of(v.printed()); }},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"unique", filter_unique},
    {"upper", [](Meter&, const Value& v, const Arguments&) -> Value { return in_case(v.printed(), true); }},
};

const NamedFilter* find(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFilters), std::end(kFilters), [&](const auto& f) { return f.name == name; });
  return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace

bool is_filter(std::string_view name) { return find(name) != nullptr; }

Value apply_filter(Meter& meter, std::string_view name, const Value& value, const Arguments& with) {
  meter.charge(1 + value.extent().size);
  return find(name)->apply(meter, value, with);
}

}  // namespace headlight::text::jinja
