// Values of chat templates, with Python's meaning: truth, equality, order, and how they are printed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headlight::text::jinja {

class Value;
struct Object;
struct Arguments;
using List = std::vector<Value>;
using Function = std::function<Value(const Arguments&)>;

// The size of a value when fully printed. Values share their parts, so that a small template can
// create one that would fill any memory when printed or compared: the interpreter checks this size first.
struct Extent {
  std::uint64_t size = 1;  // parts, and bytes of texts / 16
  std::uint32_t depth = 0;
};

struct Undefined {
  std::string name = {};  // for messages
};
struct None {};

class Value {
 public:
  Value() : is_(Undefined{}) {}
  Value(None none) : is_(none) {}                            // NOLINT: implicit on purpose
  Value(Undefined undefined) : is_(std::move(undefined)) {}  // NOLINT
  Value(bool value) : is_(value) {}                          // NOLINT
  Value(std::int64_t value) : is_(value) {}                  // NOLINT
  Value(double value) : is_(value) {}                        // NOLINT
  Value(std::string text) : is_(std::make_shared<const std::string>(std::move(text))) {}  // NOLINT
  Value(std::string_view text) : Value(std::string(text)) {}                              // NOLINT
  Value(const char* text) : Value(std::string(text)) {}                                   // NOLINT
  Value(List list);                                                                       // NOLINT
  Value(Object object);                                                                   // NOLINT
  Value(std::shared_ptr<Object> shared) : is_(std::move(shared)) {}  // NOLINT: a namespace
  Value(Function function) : is_(std::make_shared<const Function>(std::move(function))) {}  // NOLINT

  // A list that Python prints in round brackets.
  [[nodiscard]] static Value tuple(List list);

  template <class T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(is_);
  }
  [[nodiscard]] bool is_undefined() const { return is<Undefined>(); }
  [[nodiscard]] bool is_none() const { return is<None>(); }
  [[nodiscard]] bool is_boolean() const { return is<bool>(); }
  [[nodiscard]] bool is_integer() const { return is<std::int64_t>(); }
  [[nodiscard]] bool is_real() const { return is<double>(); }
  [[nodiscard]] bool is_number() const { return is_integer() || is_real() || is_boolean(); }
  [[nodiscard]] bool is_text() const { return text() != nullptr; }
  [[nodiscard]] bool is_list() const { return list() != nullptr; }
  [[nodiscard]] bool is_object() const { return object() != nullptr; }

  // Null if it is of another type.
  [[nodiscard]] const std::string* text() const { return pointed<const std::string>(); }
  [[nodiscard]] const List* list() const;
  [[nodiscard]] Object* object() const { return pointed<Object>(); }
  [[nodiscard]] const Function* function() const { return pointed<const Function>(); }
  [[nodiscard]] std::int64_t integer() const;  // of a whole number or a boolean
  [[nodiscard]] double real() const;           // of any number
  [[nodiscard]] std::string undefined_name() const { return std::get<Undefined>(is_).name; }

  [[nodiscard]] Extent extent() const;

  [[nodiscard]] bool truth() const;
  [[nodiscard]] std::string_view kind() const;  // for messages: "text", "list" …
  // Two values that refer to each other (a namespace) do not recurse without end.
  [[nodiscard]] bool equals(const Value& other, int depth = 0) const;
  // As printed by Python's str() and repr().
  [[nodiscard]] std::string printed() const;
  void print_quoted(std::string& out, int depth = 0) const;
  // Like json.dumps; `indent` < 0: in one line. Returns why it cannot be written, or an empty text.
  [[nodiscard]] std::string_view print_json(std::string& out, int indent, int depth = 0) const;

 private:
  struct ListBody;
  template <class T>
  [[nodiscard]] T* pointed() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&is_);
    return held != nullptr ? held->get() : nullptr;
  }
  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
               std::shared_ptr<const ListBody>, std::shared_ptr<Object>, std::shared_ptr<const Function>>
      is_;
};

// Keys in insertion order, as in Python.
struct Object {
  std::vector<std::pair<std::string, Value>> entries = {};
  bool changes = false;  // a namespace: the only thing that a template may assign into
  Extent extent = {};    // always 1 for a namespace, which is neither printed nor compared by its parts

  [[nodiscard]] const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
};

// The arguments of a call: positional and named.
struct Arguments {
  List places = {};
  std::vector<std::pair<std::string, Value>> names = {};

  // The argument number `place` or of this name; null: not given.
  [[nodiscard]] const Value* find(std::size_t place, std::string_view name) const;
};
struct Value::ListBody {
  List items;
  Extent extent;
  bool tuple = false;
};

inline const List* Value::list() const {
  const auto* body = pointed<const ListBody>();
  return body != nullptr ? &body->items : nullptr;
}

}  // namespace headlight::text::jinja
