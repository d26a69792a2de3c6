// Expressions of a template.
#include "core/concat.h"
#include "core/escape.h"
#include "text/jinja_interpreter.h"

namespace headlight::text::jinja {
namespace {

// list.0 is list[0].
Value key_of(const std::string& text) {
  if (text.empty() || text.size() > 9 || text[0] < '0' || text[0] > '9') return text;
  return static_cast<std::int64_t>(std::stol(text));
}

}  // namespace

Value Interpreter::evaluate(const Node& node) {
  const Level level(*this);
  meter_.at(node.line);
  meter_.charge(1);
  return meter_.checked(value_of(node));
}

Value Interpreter::value_of(const Node& node) {
  const auto child = [&](std::size_t i) { return evaluate(*node.children[i]); };
  switch (node.kind) {
    case NodeKind::constant: return node.constant;
    case NodeKind::name: return look_up(node.text);
    case NodeKind::list: {
      List list;
      for (const NodePtr& item : node.children) list.push_back(evaluate(*item));
      return list;
    }
    case NodeKind::object: return object(node);
    case NodeKind::attribute: return item_of(meter_, child(0), key_of(node.text));
    case NodeKind::subscript: return item_of(meter_, child(0), child(1));
    case NodeKind::slice: {
      const auto part = [&](std::size_t i) { return node.children[i] ? child(i) : Value(None{}); };
      return slice_of(meter_, child(0), part(1), part(2), part(3));
    }
    case NodeKind::call: return call(node);
    case NodeKind::filter: return apply_filter(meter_, node.text, child(0), arguments(node));
    case NodeKind::test: return apply_test(meter_, node.text, child(0), arguments(node)) != node.inverted;
    case NodeKind::unary: return unary(node);
    case NodeKind::binary: return binary_of(node);
    case NodeKind::compare: return comparison(node);
    case NodeKind::conditional:
      if (child(1).truth()) return child(0);
      return node.children[2] ? child(2) : Value(Undefined{"a condition without else"});
    default: return {};
  }
}

Value Interpreter::look_up(const std::string& name) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    meter_.charge(frame->entries.size() / 16);
    if (const Value* found = frame->find(name)) return *found;
  }
  return Undefined{name};
}
Value Interpreter::object(const Node& node) {
  Object out;
  for (std::size_t i = 0; i < node.children.size(); i += 2) {
    const Value key = evaluate(*node.children[i]);
    if (!key.is_text()) meter_.refuse(concat("a mapping's key must be a text, found ", key.kind()));
    meter_.charge(out.entries.size() / 8);
    out.set(*key.text(), evaluate(*node.children[i + 1]));
  }
  return out;
}

Arguments Interpreter::arguments(const Node& node) {
  Arguments with;
  const std::size_t named = node.children.size() - node.names.size();
  for (std::size_t i = 1; i < node.children.size(); ++i) {
    Value value = evaluate(*node.children[i]);
    if (i < named) with.places.push_back(std::move(value));
    else with.names.emplace_back(node.names[i - named], std::move(value));
  }
  return with;
}

Value Interpreter::call(const Node& node) {
  const Node& callee = *node.children[0];
  if (callee.kind == NodeKind::attribute) {
    const Value self = evaluate(*callee.children[0]);
    const Arguments with = arguments(node);
    meter_.at(node.line);
    if (std::optional<Value> result = call_method(meter_, self, callee.text, with)) return std::move(*result);
    const Value* held = self.object() != nullptr ? self.object()->find(callee.text) : nullptr;
    if (held != nullptr && held->function() != nullptr) return (*held->function())(with);
    meter_.refuse(concat("\"", escaped(callee.text, 40), "\" is not a supported method of ", self.kind()));
  }
  const Value function = evaluate(callee);
  if (function.function() == nullptr)
    meter_.refuse(
        concat(callee.kind == NodeKind::name ? concat("\"", escaped(callee.text, 40), "\"") : "this", " is ",
               function.kind(), ", not a function that is supported"));
  const Arguments with = arguments(node);
  meter_.at(node.line);
  return (*function.function())(with);
}

Value Interpreter::unary(const Node& node) {
  const Value value = evaluate(*node.children[0]);
  if (node.text == "not") return !value.truth();
  if (!value.is_number()) meter_.refuse(concat("\"", node.text, "\" of ", value.kind()));
  return node.text == "+" ? value : binary(meter_, "-", Value(std::int64_t{0}), value);
}

Value Interpreter::binary_of(const Node& node) {
  Value left = evaluate(*node.children[0]);
  if (node.text == "or") return left.truth() ? left : evaluate(*node.children[1]);
  if (node.text == "and") return left.truth() ? evaluate(*node.children[1]) : left;
  const Value right = evaluate(*node.children[1]);
  meter_.at(node.line);
  return binary(meter_, node.text, left, right);
}

Value Interpreter::comparison(const Node& node) {
  Value left = evaluate(*node.children[0]);
  for (std::size_t i = 0; i < node.names.size(); ++i) {
    Value right = evaluate(*node.children[i + 1]);
    meter_.at(node.line);
    if (!compare(meter_, node.names[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

}  // namespace headlight::text::jinja
