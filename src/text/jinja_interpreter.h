// Runs the tree of a template: statements in jinja_statements.cc, expressions in jinja_evaluate.cc.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "text/jinja.h"
#include "text/jinja_run.h"
#include "text/jinja_syntax.h"

namespace headlight::text::jinja {

class Interpreter {
 public:
  Interpreter(const std::string& name, const Object& variables, const std::tm& now, const Limits& limits,
              std::uint64_t steps)
      : meter_(name, steps), now_(now), limits_(limits) {
    frames_.push_back(variables);
    add_functions();
  }
  // Namespaces may refer to each other.
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
  static constexpr int kDeepestCalls = 300;  // of evaluation: a macro may call itself
  enum class Flow : std::uint8_t { next, leave, again };

  class Level {
   public:
    explicit Level(Interpreter& of) : of_(of) {
      if (++of_.level_ > kDeepestCalls) of_.meter_.refuse("recurses too deeply");
    }
    ~Level() { --of_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Interpreter& of_;
  };

  void add_functions();
  Value range(const Arguments& with);

  // Statements.
  Flow execute(const Node& node, std::string& out);
  Flow print(const Value& value, std::string& out);
  Flow print(const std::string& text, std::string& out);
  Flow branch(const Node& node, std::string& out);
  void bind(const std::vector<std::string>& names, const Value& value);
  [[nodiscard]] Value loop_facts(const List& items, std::size_t i) const;
  Flow loop(const Node& node, std::string& out);
  Flow assign(const Node& node);
  Flow define(const Node& node);
  Value call(const Node& node, const Arguments& with);  // of a macro

  // Expressions.
  Value evaluate(const Node& node);
  Value value_of(const Node& node);
  [[nodiscard]] Value look_up(const std::string& name);
  Value object(const Node& node);
  Arguments arguments(const Node& node);
  Value call(const Node& node);
  Value unary(const Node& node);
  Value binary_of(const Node& node);
  Value comparison(const Node& node);

  Meter meter_;
  std::tm now_;
  Limits limits_;
  std::vector<Object> frames_;  // variables of the template, then of loops from outside to inside
  std::vector<std::shared_ptr<Object>> spaces_;
  int level_ = 0;
};

}  // namespace headlight::text::jinja
