// Tokens to a tree: the statements.
#include "text/jinja_expressions.h"

namespace headlight::text::jinja {
namespace {

class Parser : private ExpressionParser {
 public:
  Parser(const std::vector<Token>& tokens, const std::string& name) : ExpressionParser(tokens, name) {}

  NodePtr whole() {
    NodePtr all = block({});
    if (now().kind != TokenKind::end)
      refuse(concat("{% ", escaped(now().text, 40), " %} without its beginning"));
    return all;
  }

 private:
  // Statements, up to a tag with one of these names, which is not consumed.
  NodePtr block(std::initializer_list<std::string_view> ends) {
    const Level level(*this);
    NodePtr all = make(NodeKind::block);
    while (now().kind != TokenKind::end) {
      if (now().kind == TokenKind::data) {
        NodePtr data = make(NodeKind::data);
        data->constant = now().text;
        ++at_;
        adopt(*all, std::move(data));
      } else if (now().kind == TokenKind::begin_output) {
        NodePtr output = make(NodeKind::output);
        ++at_;
        adopt(*output, tuple());
        if (now().kind != TokenKind::end_output) refuse(concat("expected }}, found ", found()));
        ++at_;
        adopt(*all, std::move(output));
      } else {
        if (std::find(ends.begin(), ends.end(), next().text) != ends.end()) return all;
        ++at_;
        adopt(*all, statement());
      }
    }
    return all;
  }
  // Skips {% name; the caller reads the rest of the tag.
  void close(std::string_view name) {
    if (now().kind != TokenKind::begin_tag) refuse(concat("{% ", name, " %} is missing"));
    ++at_;
    expect_word(name);
  }

  NodePtr statement() {
    if (take_word("if")) return branch();
    if (take_word("for")) return loop();
    if (take_word("set")) return assignment();
    if (take_word("macro")) return macro();
    if (is_word("break") || is_word("continue")) {
      NodePtr jump = make(is_word("break") ? NodeKind::leave : NodeKind::again);
      if (loops_ == 0) refuse(concat("{% ", now().text, " %} outside of a loop"));
      ++at_;
      expect_end_tag();
      return jump;
    }
    if (take_word("generation")) {  // marks the text of the model, for training; printed unchanged
      expect_end_tag();
      NodePtr body = block({"endgeneration"});
      close("endgeneration");
      expect_end_tag();
      return body;
    }
    if (now().text.starts_with("end") || is_word("else") || is_word("elif"))
      refuse(concat("{% ", escaped(now().text, 40), " %} without its beginning"));
    refuse(concat("{% ", escaped(now().text, 40),
                  " %} is not supported; if, for, set, macro, break, continue and generation are"));
  }

  NodePtr branch() {
    NodePtr node = make(NodeKind::branch);
    while (true) {
      adopt(*node, expression());
      expect_end_tag();
      adopt(*node, block({"elif", "else", "endif"}));
      if (now().kind != TokenKind::begin_tag) refuse("{% endif %} is missing");
      ++at_;
      if (take_word("elif")) continue;
      if (take_word("else")) {
        expect_end_tag();
        node->text = "else";
        adopt(*node, block({"endif"}));
        close("endif");
      } else {
        expect_word("endif");
      }
      expect_end_tag();
      return node;
    }
  }

  NodePtr loop() {
    NodePtr node = make(NodeKind::loop);
    do node->names.push_back(expect_name());
    while (take_sign(","));
    expect_word("in");
    NodePtr items = disjunction(), only;
    if (take_word("if")) only = expression();
    if (is_word("recursive")) refuse("recursive loops are not supported");
    expect_end_tag();
    ++loops_;
    NodePtr body = block({"else", "endfor"}), otherwise;
    --loops_;
    if (now().kind == TokenKind::begin_tag && next().text == "else") {
      close("else");
      expect_end_tag();
      otherwise = block({"endfor"});
    }
    close("endfor");
    expect_end_tag();
    for (NodePtr* child : {&items, &body, &only, &otherwise}) adopt(*node, std::move(*child));
    return node;
  }

  NodePtr assignment() {
    NodePtr node = make(NodeKind::assign);
    do node->names.push_back(expect_name());
    while (take_sign(","));
    if (node->names.size() == 1 && take_sign(".")) node->text = expect_name();
    if (take_sign("=")) {
      adopt(*node, tuple());
      expect_end_tag();
      return node;
    }
    if (node->names.size() != 1 || !node->text.empty()) refuse(concat("expected \"=\", found ", found()));
    node->kind = NodeKind::assign_body;
    expect_end_tag();
    adopt(*node, block({"endset"}));
    close("endset");
    expect_end_tag();
    return node;
  }

  NodePtr macro() {
    NodePtr node = make(NodeKind::macro);
    node->names.push_back(expect_name());
    expect_sign("(");
    std::vector<NodePtr> defaults;
    while (!is_sign(")")) {
      node->names.push_back(expect_name());
      if (take_sign("=")) defaults.push_back(expression());
      else if (!defaults.empty()) refuse("a parameter without a default follows one that has one");
      if (!take_sign(",")) break;
    }
    expect_sign(")");
    expect_end_tag();
    const int loops = std::exchange(loops_, 0);
    adopt(*node, block({"endmacro"}));
    loops_ = loops;
    close("endmacro");
    if (now().kind == TokenKind::name) ++at_;  // {% endmacro its_name %}
    expect_end_tag();
    for (NodePtr& value : defaults) adopt(*node, std::move(value));
    return node;
  }

  int loops_ = 0;
};

}  // namespace

NodePtr parse(const std::vector<Token>& tokens, const std::string& name) {
  return Parser(tokens, name).whole();
}

}  // namespace headlight::text::jinja
