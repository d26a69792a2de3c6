// Runs the tree of a template.
#include "text/jinja.h"

#include <algorithm>
#include <array>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/jinja_run.h"
#include "text/jinja_syntax.h"
#include "text/unicode.h"

namespace headlight::text::jinja {
namespace {

constexpr std::size_t kLongestTemplate = 1 << 20;
constexpr int kDeepestCalls = 300;  // of evaluation: a macro may call itself
constexpr std::int64_t kLongestRange = 100'000;

class Interpreter {
 public:
  Interpreter(const std::string& name, const Object& variables, const std::tm& now, const Limits& limits,
              std::uint64_t steps)
      : meter_(name, steps), now_(now), limits_(limits) {
    frames_.push_back(variables);
    add_functions();
  }
  // Namespaces may hold each other.
  ~Interpreter() {
    for (const auto& space : spaces_) space->entries.clear();
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  std::string run(const Node& root) {
    std::string out;
    (void)execute(root, out);
    return out;
  }

 private:
  enum class Flow : std::uint8_t { next, leave, again };

  class Level {
   public:
    explicit Level(Interpreter& of) : of_(of) {
      if (++of_.level_ > kDeepestCalls) of_.meter_.refuse("calls itself too deeply");
    }
    ~Level() { --of_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Interpreter& of_;
  };

  void add_functions() {
    Object& globals = frames_.front();
    globals.set("raise_exception", Function([](const Arguments& with) -> Value {
                  const Value* message = with.find(0, "message");
                  throw Error(ErrorKind::input, "chat.messages",
                              concat("the chat template refuses these messages: ",
                                     escaped(message != nullptr ? message->printed() : "", 500)));
                }));
    globals.set("namespace", Function([this](const Arguments& with) -> Value {
                  auto space = std::make_shared<Object>();
                  space->changes = true;
                  for (const Value& from : with.places)
                    if (const Object* object = from.object()) space->entries = object->entries;
                  for (const auto& [key, value] : with.names) space->set(key, value);
                  spaces_.push_back(space);
                  return space;
                }));
    globals.set("dict",
                Function([](const Arguments& with) -> Value { return Object{.entries = with.names}; }));
    globals.set("range", Function([this](const Arguments& with) { return range(with); }));
    globals.set("strftime_now", Function([this](const Arguments& with) -> Value {
                  std::array<char, 256> text{};
                  const std::string& form = text_argument(meter_, with, 0, "format");
                  const std::size_t size = std::strftime(text.data(), text.size(), form.c_str(), &now_);
                  return to_well_formed({text.data(), size});
                }));
  }

  Value range(const Arguments& with) {
    std::int64_t first = 0, last = integer_or(meter_, with, 0, "stop", 0);
    const std::int64_t step = integer_or(meter_, with, 2, "step", 1);
    if (with.places.size() > 1) {
      first = last;
      last = integer_or(meter_, with, 1, "stop", 0);
    }
    if (step == 0) meter_.refuse("range() with steps of 0");
    List out;
    for (std::int64_t i = first; step > 0 ? i < last : i > last;) {
      if (static_cast<std::int64_t>(out.size()) >= kLongestRange)
        meter_.refuse(concat("range() of more than ", kLongestRange, " numbers"));
      out.emplace_back(i);
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    meter_.charge(out.size());
    return out;
  }

  // Statements.
  Flow execute(const Node& node, std::string& out) {
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

  Flow print(const Value& value, std::string& out) {
    meter_.charge(value.extent().size);
    return print(value.printed(), out);
  }
  Flow print(const std::string& text, std::string& out) {
    meter_.charge_bytes(text.size());
    if (out.size() + text.size() > limits_.output) meter_.refuse("writes more than a conversation can be");
    out += text;
    return Flow::next;
  }

  Flow branch(const Node& node, std::string& out) {
    const std::size_t pairs = node.children.size() / 2;
    for (std::size_t i = 0; i < pairs; ++i)
      if (evaluate(*node.children[2 * i]).truth()) return execute(*node.children[2 * i + 1], out);
    return node.text == "else" ? execute(*node.children.back(), out) : Flow::next;
  }

  void bind(const std::vector<std::string>& names, const Value& value) {
    meter_.charge(names.size() * (1 + frames_.back().entries.size() / 16));
    if (names.size() == 1) return frames_.back().set(names[0], value);
    const List parts = items_of(meter_, value);
    if (parts.size() != names.size())
      meter_.refuse(concat(names.size(), " names for ", parts.size(), " values"));
    for (std::size_t i = 0; i < names.size(); ++i) frames_.back().set(names[i], parts[i]);
  }

  // What the body knows as `loop`.
  [[nodiscard]] Value loop_facts(const List& items, std::size_t i) const {
    const auto place = static_cast<std::int64_t>(i), count = static_cast<std::int64_t>(items.size());
    Object facts;
    const auto add = [&](const char* name, Value value) {
      facts.entries.emplace_back(name, std::move(value));
    };
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
        std::make_shared<Object>(std::move(facts));  // its items' sizes do not count: it is never printed
    shared->changes = true;
    return shared;
  }

  Flow loop(const Node& node, std::string& out) {
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
    bool finished = false;  // once at least: else is also for loops that were left each time, as in Jinja
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

  Flow assign(const Node& node) {
    const Value value = evaluate(*node.children[0]);
    if (node.text.empty()) {
      bind(node.names, value);
      return Flow::next;
    }
    const Value space = look_up(node.names[0]);
    if (Object* object = space.object(); object != nullptr && object->changes) object->set(node.text, value);
    else meter_.refuse(concat("\"", node.names[0], "\" is no namespace, so nothing can be set in it"));
    return Flow::next;
  }

  Flow define(const Node& node) {
    frames_.back().set(node.names[0],
                       Function([this, &node](const Arguments& with) { return call(node, with); }));
    return Flow::next;
  }

  // A macro sees its arguments and what the template itself has set, not the loops around its call.
  Value call(const Node& node, const Arguments& with) {
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

  // Expressions.
  Value evaluate(const Node& node) {
    const Level level(*this);
    meter_.at(node.line);
    meter_.charge(1);
    return meter_.checked(value_of(node));
  }

  Value value_of(const Node& node) {
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

  [[nodiscard]] Value look_up(const std::string& name) {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      meter_.charge(frame->entries.size() / 16);
      if (const Value* found = frame->find(name)) return *found;
    }
    return Undefined{name};
  }
  // list.0 is list[0].
  [[nodiscard]] static Value key_of(const std::string& text) {
    if (text.empty() || text.size() > 9 || text[0] < '0' || text[0] > '9') return text;
    return static_cast<std::int64_t>(std::stol(text));
  }

  Value object(const Node& node) {
    Object out;
    for (std::size_t i = 0; i < node.children.size(); i += 2) {
      const Value key = evaluate(*node.children[i]);
      if (!key.is_text()) meter_.refuse(concat("a mapping's key must be a text, found ", key.kind()));
      meter_.charge(out.entries.size() / 8);
      out.set(*key.text(), evaluate(*node.children[i + 1]));
    }
    return out;
  }

  Arguments arguments(const Node& node) {
    Arguments with;
    const std::size_t named = node.children.size() - node.names.size();
    for (std::size_t i = 1; i < node.children.size(); ++i) {
      Value value = evaluate(*node.children[i]);
      if (i < named) with.places.push_back(std::move(value));
      else with.names.emplace_back(node.names[i - named], std::move(value));
    }
    return with;
  }

  Value call(const Node& node) {
    const Node& callee = *node.children[0];
    if (callee.kind == NodeKind::attribute) {
      const Value self = evaluate(*callee.children[0]);
      const Arguments with = arguments(node);
      meter_.at(node.line);
      if (std::optional<Value> result = call_method(meter_, self, callee.text, with))
        return std::move(*result);
      const Value* held = self.object() != nullptr ? self.object()->find(callee.text) : nullptr;
      if (held != nullptr && held->function() != nullptr) return (*held->function())(with);
      meter_.refuse(
          concat("\"", escaped(callee.text, 40), "\" is no method of ", self.kind(), " that is supported"));
    }
    const Value function = evaluate(callee);
    if (function.function() == nullptr)
      meter_.refuse(
          concat(callee.kind == NodeKind::name ? concat("\"", escaped(callee.text, 40), "\"") : "this",
                 " is ", function.kind(), ", not a function that is supported"));
    const Arguments with = arguments(node);
    meter_.at(node.line);
    return (*function.function())(with);
  }

  Value unary(const Node& node) {
    const Value value = evaluate(*node.children[0]);
    if (node.text == "not") return !value.truth();
    if (!value.is_number()) meter_.refuse(concat("\"", node.text, "\" of ", value.kind()));
    return node.text == "+" ? value : binary(meter_, "-", Value(std::int64_t{0}), value);
  }

  Value binary_of(const Node& node) {
    Value left = evaluate(*node.children[0]);
    if (node.text == "or") return left.truth() ? left : evaluate(*node.children[1]);
    if (node.text == "and") return left.truth() ? evaluate(*node.children[1]) : left;
    const Value right = evaluate(*node.children[1]);
    meter_.at(node.line);
    return binary(meter_, node.text, left, right);
  }

  Value comparison(const Node& node) {
    Value left = evaluate(*node.children[0]);
    for (std::size_t i = 0; i < node.names.size(); ++i) {
      Value right = evaluate(*node.children[i + 1]);
      meter_.at(node.line);
      if (!compare(meter_, node.names[i], left, right)) return false;
      left = std::move(right);
    }
    return true;
  }

  Meter meter_;
  std::tm now_;
  Limits limits_;
  std::vector<Object> frames_;  // the template's own, then loops from outside to inside
  std::vector<std::shared_ptr<Object>> spaces_;
  int level_ = 0;
};

}  // namespace

void Meter::charge(std::uint64_t steps) {
  if (steps > left_) refuse("needs more steps than a chat template may take");
  left_ -= steps;
}

void Meter::refuse(std::string_view what) const { refuse_template(name_, line_, what); }

Template::Template(std::string_view source, std::string name) : name_(std::move(name)) {
  if (source.size() > kLongestTemplate) refuse_template(name_, 1, "is longer than a chat template can be");
  root_ = parse(read_tokens(to_well_formed(source), name_), name_);
}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

std::string Template::render(const Object& variables, const std::tm& now, const Limits& limits) const {
  std::uint64_t size = 0;
  for (const auto& [key, value] : variables.entries) size += value.extent().size;
  return Interpreter(name_, variables, now, limits, limits.steps + 800 * size).run(*root_);
}

}  // namespace headlight::text::jinja
