// value is test
#include <algorithm>
#include <iterator>

#include "text/jinja_run.h"
#include "text/jinja_syntax.h"

namespace headlight::text::jinja {
namespace {

using Test = bool (*)(Meter&, const Value&, const Arguments&);

const Value& other(const Meter& meter, const Arguments& with) {
  const Value* value = with.find(0, "other");
  if (value == nullptr) meter.refuse("a test lacks its argument");
  return *value;
}
// The text has cased letters, and all of them have this case.
bool is_in_case(const std::string& text, bool upper) {
  return in_case(text, upper) == text && in_case(text, !upper) != text;
}
bool is_whole(const Value& v) { return v.is_integer() || v.is_boolean(); }

template <int kWanted, bool kOrEqual>
bool ordered(Meter& m, const Value& v, const Arguments& w) {
  const int way = order(m, v, other(m, w));
  return way == kWanted || (kOrEqual && way == 0);
}
bool test_equal(Meter& m, const Value& v, const Arguments& w) { return compare(m, "==", v, other(m, w)); }
bool test_unequal(Meter& m, const Value& v, const Arguments& w) { return !test_equal(m, v, w); }
bool test_divisible(Meter& m, const Value& v, const Arguments& w) {
  const Value& by = other(m, w);
  if (!is_whole(v) || !is_whole(by) || by.integer() == 0) m.refuse("divisibleby needs whole numbers");
  return binary(m, "%", v, by).integer() == 0;
}
bool test_sequence(Meter&, const Value& v, const Arguments&) {
  return v.is_list() || v.is_text() || v.is_object();
}
bool test_iterable(Meter&, const Value& v, const Arguments&) {
  return v.is_list() || v.is_text() || v.is_object() || v.is_undefined();
}

struct NamedTest {
  std::string_view name;
  Test holds;
};
constexpr NamedTest kTests[] = {
    {"boolean", [](Meter&, const Value& v, const Arguments&) { return v.is_boolean(); }},
    {"callable", [](Meter&, const Value& v, const Arguments&) { return v.function() != nullptr; }},
    {"defined", [](Meter&, const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"divisibleby", test_divisible},
    {"eq", test_equal},
    {"equalto", test_equal},
    {"even",
     [](Meter& m, const Value& v, const Arguments&) {
       return is_whole(v) ? v.integer() % 2 == 0 : (m.refuse("even needs a whole number"), false);
     }},
    {"false", [](Meter&, const Value& v, const Arguments&) { return v.is_boolean() && !v.truth(); }},
    {"float", [](Meter&, const Value& v, const Arguments&) { return v.is_real(); }},
    {"ge", ordered<1, true>},
    {"gt", ordered<1, false>},
    {"greaterthan", ordered<1, false>},
    {"in", [](Meter& m, const Value& v, const Arguments& w) { return contains(m, other(m, w), v); }},
    {"integer", [](Meter&, const Value& v, const Arguments&) { return v.is_integer(); }},
    {"iterable", test_iterable},
    {"le", ordered<-1, true>},
    {"lessthan", ordered<-1, false>},
    {"lower", [](Meter&, const Value& v, const Arguments&) { return is_in_case(v.printed(), false); }},
    {"lt", ordered<-1, false>},
    {"mapping", [](Meter&, const Value& v, const Arguments&) { return v.is_object(); }},
    {"ne", test_unequal},
    {"none", [](Meter&, const Value& v, const Arguments&) { return v.is_none(); }},
    {"number", [](Meter&, const Value& v, const Arguments&) { return v.is_number(); }},
    {"odd",
     [](Meter& m, const Value& v, const Arguments&) {
       return is_whole(v) ? v.integer() % 2 != 0 : (m.refuse("odd needs a whole number"), false);
     }},
    {"sequence", test_sequence},
    {"string", [](Meter&, const Value& v, const Arguments&) { return v.is_text(); }},
    {"true", [](Meter&, const Value& v, const Arguments&) { return v.is_boolean() && v.truth(); }},
    {"undefined", [](Meter&, const Value& v, const Arguments&) { return v.is_undefined(); }},
    {"upper", [](Meter&, const Value& v, const Arguments&) { return is_in_case(v.printed(), true); }},
};

const NamedTest* find(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kTests), std::end(kTests), [&](const auto& t) { return t.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace

bool is_test(std::string_view name) { return find(name) != nullptr; }

bool apply_test(Meter& meter, std::string_view name, const Value& value, const Arguments& with) {
  meter.charge(1);
  return find(name)->holds(meter, value, with);
}

}  // namespace headlight::text::jinja
