// Statements of a template.
#include <iterator>

#include "core/concat.h"
#include "text/jinja_interpreter.h"

namespace headlight::text::jinja {

Interpreter::Flow Interpreter::execute(const Node& node, std::string& out) {
  const Level level(*this);
  meter_.at(node.line);
  meter_.charge(1);
  switch (node.kind) {
    case NodeKind::block:
      for (const NodePtr& child : node.children)
        if (const Flow flow = execute(*child, out); flow != Flow::next) return flow;
      return Flow::next;
    case NodeKind::data: return print(*node.constant.text(), out);
    case NodeKind::output: return print(evaluate(*node.children[0]), out);
    case NodeKind::branch: return branch(node, out);
    case NodeKind::loop: return loop(node, out);
    case NodeKind::assign: return assign(node);
    case NodeKind::assign_body: {
      std::string text;
      frames_.emplace_back();
      (void)execute(*node.children[0], text);
      frames_.pop_back();
      frames_.back().set(node.names[0], Value(std::move(text)));
      return Flow::next;
    }
    case NodeKind::macro: return define(node);
    case NodeKind::leave: return Flow::leave;
    case NodeKind::again: return Flow::again;
    default: return Flow::next;
  }
}

Interpreter::Flow Interpreter::print(const Value& value, std::string& out) {
  meter_.charge(value.extent().size);
  return print(value.printed(), out);
}
Interpreter::Flow Interpreter::print(const std::string& text, std::string& out) {
  meter_.charge_bytes(text.size());
  if (out.size() + text.size() > limits_.output) meter_.refuse("writes more than a conversation can be");
  out += text;
  return Flow::next;
}

Interpreter::Flow Interpreter::branch(const Node& node, std::string& out) {
  const std::size_t pairs = node.children.size() / 2;
  for (std::size_t i = 0; i < pairs; ++i)
    if (evaluate(*node.children[2 * i]).truth()) return execute(*node.children[2 * i + 1], out);
  return node.text == "else" ? execute(*node.children.back(), out) : Flow::next;
}

void Interpreter::bind(const std::vector<std::string>& names, const Value& value) {
  meter_.charge(names.size() * (1 + frames_.back().entries.size() / 16));
  if (names.size() == 1) return frames_.back().set(names[0], value);
  const List parts = items_of(meter_, value);
  if (parts.size() != names.size())
    meter_.refuse(concat(names.size(), " names for ", parts.size(), " values"));
  for (std::size_t i = 0; i < names.size(); ++i) frames_.back().set(names[i], parts[i]);
}

// The variable `loop` of the body.
Value Interpreter::loop_facts(const List& items, std::size_t i) const {
  const auto place = static_cast<std::int64_t>(i), count = static_cast<std::int64_t>(items.size());
  Object facts;
  const auto add = [&](const char* name, Value value) { facts.entries.emplace_back(name, std::move(value)); };
  add("index", Value(place + 1));
  add("index0", Value(place));
  add("revindex", Value(count - place));
  add("revindex0", Value(count - place - 1));
  add("first", Value(i == 0));
  add("last", Value(i + 1 == items.size()));
  add("length", Value(count));
  add("previtem", i > 0 ? items[i - 1] : Value(Undefined{"previtem"}));
  add("nextitem", i + 1 < items.size() ? items[i + 1] : Value(Undefined{"nextitem"}));
  add("cycle", Function([i](const Arguments& with) {
        return with.places.empty() ? Value() : with.places[i % with.places.size()];
      }));
  auto shared =
      std::make_shared<Object>(std::move(facts));  // its size does not include the items: it is never printed
  shared->changes = true;
  return shared;
}

Interpreter::Flow Interpreter::loop(const Node& node, std::string& out) {
  List items = items_of(meter_, evaluate(*node.children[0]));
  frames_.emplace_back();
  if (node.children[2]) {
    List kept;
    for (const Value& item : items) {
      bind(node.names, item);
      if (evaluate(*node.children[2]).truth()) kept.push_back(item);
    }
    items = std::move(kept);
  }
  // One iteration at least: as in Jinja, else also applies to loops that break each time.
  bool finished = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    frames_.back().entries.clear();
    bind(node.names, items[i]);
    frames_.back().set("loop", loop_facts(items, i));
    meter_.charge(10);
    const Flow flow = execute(*node.children[1], out);
    finished = finished || flow == Flow::next;
    if (flow == Flow::leave) break;
  }
  frames_.pop_back();
  return !finished && node.children[3] ? execute(*node.children[3], out) : Flow::next;
}

Interpreter::Flow Interpreter::assign(const Node& node) {
  const Value value = evaluate(*node.children[0]);
  if (node.text.empty()) {
    bind(node.names, value);
    return Flow::next;
  }
  const Value space = look_up(node.names[0]);
  if (Object* object = space.object(); object != nullptr && object->changes) object->set(node.text, value);
  else
    meter_.refuse(
        concat("\"", node.names[0], "\" is not a namespace; only attributes of namespaces can be set"));
  return Flow::next;
}

Interpreter::Flow Interpreter::define(const Node& node) {
  frames_.back().set(node.names[0],
                     Function([this, &node](const Arguments& with) { return call(node, with); }));
  return Flow::next;
}

// A macro sees its arguments and what the template itself has set, not the loops around its call.
Value Interpreter::call(const Node& node, const Arguments& with) {
  const Level level(*this);
  const std::size_t count = node.names.size() - 1, defaults = node.children.size() - 1;
  if (with.places.size() > count)
    meter_.refuse(concat("the macro \"", node.names[0], "\" takes ", count, " values"));
  Object frame;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = node.names[i + 1];
    if (const Value* given = with.find(i, name)) frame.set(name, *given);
    else if (i + defaults >= count) frame.set(name, evaluate(*node.children[1 + i + defaults - count]));
    else frame.set(name, Undefined{name});
  }
  std::vector<Object> outer(std::make_move_iterator(frames_.begin() + 1),
                            std::make_move_iterator(frames_.end()));
  frames_.resize(1);
  frames_.push_back(std::move(frame));
  std::string out;
  (void)execute(*node.children[0], out);
  frames_.resize(1);
  std::move(outer.begin(), outer.end(), std::back_inserter(frames_));
  return out;
}

}  // namespace headlight::text::jinja
