// Precedence as in Jinja: conditional, or, and, not, comparison, + -, ~, * / // %, sign, then attributes, calls, filters
// and tests.
#include "text/jinja_expressions.h"

#include <array>

namespace headlight::text::jinja {

// Values with commas between them are a list.
NodePtr ExpressionParser::tuple() {
  NodePtr first = expression();
  if (!is_sign(",")) return first;
  NodePtr all = make(NodeKind::list);
  adopt(*all, std::move(first));
  while (take_sign(",")) {
    if (now().kind == TokenKind::end_tag || now().kind == TokenKind::end_output || is_sign(")")) break;
    adopt(*all, expression());
  }
  return all;
}

NodePtr ExpressionParser::expression() {
  const Level level(*this);
  NodePtr value = disjunction();
  if (!is_word("if")) return value;
  NodePtr node = make(NodeKind::conditional);
  ++at_;
  NodePtr condition = disjunction();
  adopt(*node, std::move(value));
  adopt(*node, std::move(condition));
  adopt(*node, take_word("else") ? expression() : nullptr);
  return node;
}

NodePtr ExpressionParser::disjunction() {
  return chain({"or"}, TokenKind::name, [&] { return conjunction(); });
}

NodePtr ExpressionParser::conjunction() {
  return chain({"and"}, TokenKind::name, [&] { return negation(); });
}

NodePtr ExpressionParser::negation() {
  if (!is_word("not")) return comparison();
  const Level level(*this);
  NodePtr node = make(NodeKind::unary, "not");
  ++at_;
  adopt(*node, negation());
  return node;
}

NodePtr ExpressionParser::comparison() {
  static constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<", ">", "<=", ">="};
  NodePtr first = sum(), node;
  while (true) {
    std::string with;
    if (now().kind == TokenKind::sign &&
        std::find(kOperators.begin(), kOperators.end(), now().text) != kOperators.end())
      with = now().text;
    else if (is_word("in")) with = "in";
    else if (is_word("not") && next().kind == TokenKind::name && next().text == "in") with = "not in";
    else return node ? std::move(node) : std::move(first);
    if (!node) {
      node = make(NodeKind::compare);
      adopt(*node, std::move(first));
    }
    at_ += with == "not in" ? 2 : 1;
    node->names.push_back(std::move(with));
    adopt(*node, sum());
  }
}

NodePtr ExpressionParser::sum() {
  return chain({"+", "-"}, TokenKind::sign, [&] {
    return chain({"~"}, TokenKind::sign, [&] {
      return chain({"*", "/", "//", "%"}, TokenKind::sign, [&] { return signed_value(Filters::yes); });
    });
  });
}

NodePtr ExpressionParser::signed_value(Filters filters) {
  const Level level(*this);
  NodePtr node;
  if (is_sign("-") || is_sign("+")) {
    node = make(NodeKind::unary, now().text);
    ++at_;
    adopt(*node, signed_value(Filters::no));
  } else {
    node = postfix(primary());
  }
  return filters == Filters::yes ? filtered(std::move(node)) : std::move(node);
}

NodePtr ExpressionParser::primary() {
  const Token& token = now();
  switch (token.kind) {
    case TokenKind::name: return word();
    case TokenKind::integer: return literal(Value(token.integer));
    case TokenKind::real: return literal(Value(token.real));
    case TokenKind::text: {
      std::string text;  // texts side by side are one
      for (; now().kind == TokenKind::text; ++at_) text += now().text;
      --at_;
      return literal(Value(std::move(text)));
    }
    default: break;
  }
  if (take_sign("(")) {
    NodePtr inner = is_sign(")") ? make(NodeKind::list) : tuple();
    expect_sign(")");
    return inner;
  }
  if (is_sign("[")) return elements(NodeKind::list, "]");
  if (is_sign("{")) return elements(NodeKind::object, "}");
  refuse(concat("expected a value, found ", found()));
}

NodePtr ExpressionParser::literal(Value value) {
  NodePtr node = make(NodeKind::constant);
  node->constant = std::move(value);
  ++at_;
  return node;
}

NodePtr ExpressionParser::word() {
  const std::string& name = now().text;
  if (name == "true" || name == "True") return literal(Value(true));
  if (name == "false" || name == "False") return literal(Value(false));
  if (name == "none" || name == "None") return literal(Value(None{}));
  NodePtr node = make(NodeKind::name, name);
  ++at_;
  return node;
}

NodePtr ExpressionParser::elements(NodeKind kind, std::string_view end) {
  NodePtr node = make(kind);
  ++at_;
  while (!is_sign(end)) {
    adopt(*node, expression());
    if (kind == NodeKind::object) {
      expect_sign(":");
      adopt(*node, expression());
    }
    if (!take_sign(",")) break;
  }
  expect_sign(end);
  return node;
}

NodePtr ExpressionParser::postfix(NodePtr value) {
  while (true) {
    if (take_sign(".")) {
      NodePtr node = make(NodeKind::attribute, now().kind == TokenKind::integer ? now().text : "");
      if (now().kind == TokenKind::integer) ++at_;
      else node->text = expect_name();
      adopt(*node, std::move(value));
      value = std::move(node);
    } else if (is_sign("[")) {
      value = subscript(std::move(value));
    } else if (is_sign("(")) {
      NodePtr node = make(NodeKind::call);
      adopt(*node, std::move(value));
      arguments(*node);
      value = std::move(node);
    } else {
      return value;
    }
  }
}

NodePtr ExpressionParser::subscript(NodePtr value) {
  NodePtr node = make(NodeKind::subscript), parts[3];
  ++at_;
  int count = 0;
  bool slice = false;
  while (!is_sign("]")) {
    if (take_sign(":")) {
      slice = true;
      if (++count > 2) refuse("a slice has three parts at most");
    } else {
      if (parts[count]) refuse(concat("expected \"]\", found ", found()));
      parts[count] = expression();
    }
  }
  ++at_;
  if (!slice && !parts[0]) refuse("[] needs a key");
  node->kind = slice ? NodeKind::slice : NodeKind::subscript;
  adopt(*node, std::move(value));
  for (int i = 0; i < (slice ? 3 : 1); ++i) adopt(*node, std::move(parts[i]));
  return node;
}

void ExpressionParser::arguments(Node& node) {
  expect_sign("(");
  while (!is_sign(")")) {
    if (now().kind == TokenKind::name && next().kind == TokenKind::sign && next().text == "=") {
      node.names.push_back(expect_name());
      ++at_;
    } else if (!node.names.empty()) {
      refuse("a positional argument follows a named one");
    }
    adopt(node, expression());
    if (!take_sign(",")) break;
  }
  expect_sign(")");
}

NodePtr ExpressionParser::filtered(NodePtr value) {
  while (true) {
    if (take_sign("|")) {
      NodePtr node = make(NodeKind::filter, expect_name());
      if (!is_filter(node->text))
        refuse(concat("the filter \"", escaped(node->text, 40), "\" is not supported"));
      adopt(*node, std::move(value));
      if (is_sign("(")) arguments(*node);
      value = std::move(node);
    } else if (take_word("is")) {
      value = test(std::move(value));
    } else if (is_sign("(")) {
      NodePtr node = make(NodeKind::call);
      adopt(*node, std::move(value));
      arguments(*node);
      value = std::move(node);
    } else {
      return value;
    }
  }
}

NodePtr ExpressionParser::test(NodePtr value) {
  NodePtr node = make(NodeKind::test);
  node->inverted = take_word("not");
  node->text = expect_name();
  if (!is_test(node->text)) refuse(concat("the test \"", escaped(node->text, 40), "\" is not supported"));
  adopt(*node, std::move(value));
  const TokenKind kind = now().kind;
  const bool ends = is_word("else") || is_word("or") || is_word("and") || is_word("is") || is_word("if") ||
                    is_word("in") || is_word("not");
  if (is_sign("(")) arguments(*node);
  else if ((kind == TokenKind::name && !ends) || kind == TokenKind::text || kind == TokenKind::integer ||
           kind == TokenKind::real || is_sign("[") || is_sign("{"))
    adopt(*node, postfix(primary()));
  return node;
}

}  // namespace headlight::text::jinja
