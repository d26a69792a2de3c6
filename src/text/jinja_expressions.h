// Reading expressions of a template; statements, which contain them, are read by jinja_parser.cc.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/concat.h"
#include "core/escape.h"
#include "text/jinja_syntax.h"

namespace headlight::text::jinja {

class ExpressionParser {
 protected:
  static constexpr int kDeepest =
      100;  // limit of nesting, so that neither parsing nor running needs a large stack

  ExpressionParser(const std::vector<Token>& tokens, const std::string& name)
      : tokens_(tokens), name_(name) {}

  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  [[noreturn]] void refuse(std::string_view what) const { refuse_template(name_, now().line, what); }
  [[nodiscard]] bool is_sign(std::string_view sign) const {
    return now().kind == TokenKind::sign && now().text == sign;
  }
  [[nodiscard]] bool is_word(std::string_view word) const {
    return now().kind == TokenKind::name && now().text == word;
  }
  bool take_sign(std::string_view sign) { return is_sign(sign) && (++at_, true); }
  bool take_word(std::string_view word) { return is_word(word) && (++at_, true); }
  void expect_sign(std::string_view sign) {
    if (!take_sign(sign)) refuse(concat("expected \"", sign, "\", found ", found()));
  }
  void expect_word(std::string_view word) {
    if (!take_word(word)) refuse(concat("expected \"", word, "\", found ", found()));
  }
  std::string expect_name() {
    if (now().kind != TokenKind::name) refuse(concat("expected a name, found ", found()));
    return tokens_[at_++].text;
  }
  void expect_end_tag() {
    if (now().kind != TokenKind::end_tag) refuse(concat("expected the end of the tag, found ", found()));
    ++at_;
  }
  [[nodiscard]] std::string found() const {
    if (now().kind == TokenKind::end) return "the end of the template";
    if (now().kind == TokenKind::end_tag || now().kind == TokenKind::end_output) return "the end of the tag";
    return concat("\"", escaped(now().text, 40), "\"");
  }

  [[nodiscard]] NodePtr make(NodeKind kind, std::string text = {}) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->line = now().line;
    node->text = std::move(text);
    return node;
  }
  void adopt(Node& parent, NodePtr child) const {
    if (child) parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > kDeepest) refuse("is nested too deeply");
    parent.children.push_back(std::move(child));
  }
  // Counts levels on the way down, where no tree exists yet.
  class Level {
   public:
    explicit Level(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.level_ > kDeepest) parser_.refuse("is nested too deeply");
    }
    ~Level() { --parser_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  // Values with commas between them are a list.
  [[nodiscard]] NodePtr tuple();
  [[nodiscard]] NodePtr expression();
  [[nodiscard]] NodePtr disjunction();

  const std::vector<Token>& tokens_;
  const std::string& name_;
  std::size_t at_ = 0;

 private:
  enum class Filters : std::uint8_t { no, yes };
  template <class Operand>
  NodePtr chain(std::initializer_list<std::string_view> operators, TokenKind kind, const Operand& operand) {
    NodePtr left = operand();
    while (now().kind == kind &&
           std::find(operators.begin(), operators.end(), now().text) != operators.end()) {
      NodePtr node = make(NodeKind::binary, now().text);
      ++at_;
      adopt(*node, std::move(left));
      adopt(*node, operand());
      left = std::move(node);
    }
    return left;
  }
  [[nodiscard]] NodePtr conjunction();
  [[nodiscard]] NodePtr negation();
  [[nodiscard]] NodePtr comparison();
  [[nodiscard]] NodePtr sum();
  [[nodiscard]] NodePtr signed_value(Filters filters);
  [[nodiscard]] NodePtr primary();
  [[nodiscard]] NodePtr literal(Value value);
  [[nodiscard]] NodePtr word();
  [[nodiscard]] NodePtr elements(NodeKind kind, std::string_view end);
  [[nodiscard]] NodePtr postfix(NodePtr value);
  [[nodiscard]] NodePtr subscript(NodePtr value);
  void arguments(Node& node);
  [[nodiscard]] NodePtr filtered(NodePtr value);
  [[nodiscard]] NodePtr test(NodePtr value);

  int level_ = 0;
};

}  // namespace headlight::text::jinja
