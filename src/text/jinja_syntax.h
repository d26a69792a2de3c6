// A chat template as a tree. The language is the part of Jinja that published chat templates use; anything else is
// refused when the template is read, by its name and line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_value.h"

namespace headlight::text::jinja {

enum class NodeKind : std::uint8_t {
  // Statements.
  block,        // children in order
  output,       // {{ child }}
  data,         // text between tags: constant
  branch,       // children: condition, block, condition, block …, and a last block where `text` is "else"
  loop,         // children: iterable, body, filter or null, else or null; names: targets
  assign,       // child: value; names: targets, text: the attribute of a namespace
  assign_body,  // child: block; names: the target
  macro,        // child: body, then the defaults of the last parameters; names: its own, then the parameters
  leave,        // {% break %}
  again,        // {% continue %}
  // Expressions.
  constant,
  name,  // text
  list,
  object,       // children: key, value, key, value …
  attribute,    // child . text
  subscript,    // child [ child ]
  slice,        // child [ from or null : to or null : step or null ]
  call,         // child ( arguments )
  filter,       // child | text ( arguments )
  test,         // child is text ( arguments ); `inverted` for "is not"
  unary,        // text child: "-", "+", "not"
  binary,       // child text child
  compare,      // child, then operands; names: operators
  conditional,  // value, condition, otherwise or null
};

struct Node {
  NodeKind kind = NodeKind::block;
  int line = 0, depth = 1;
  bool inverted = false;
  std::string text = {};
  Value constant = {};
  std::vector<std::string> names = {};  // of named arguments: those of the last children
  std::vector<std::unique_ptr<Node>> children = {};
};
using NodePtr = std::unique_ptr<Node>;

enum class TokenKind : std::uint8_t {
  data,
  begin_output,
  end_output,
  begin_tag,
  end_tag,
  name,
  text,
  integer,
  real,
  sign,
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text = {};  // of a text its value, without quotes and escapes
  std::int64_t integer = 0;
  double real = 0;
  int line = 1;
};

// Throws Error{input}: "NAME, line 3: …".
[[noreturn]] void refuse_template(const std::string& name, int line, std::string_view what);

// Tags with the white-space rules that models' templates expect: trim_blocks and lstrip_blocks are on.
[[nodiscard]] std::vector<Token> read_tokens(std::string_view source, const std::string& name);
[[nodiscard]] NodePtr parse(const std::vector<Token>& tokens, const std::string& name);

// Whether this filter or test exists. Unknown ones are refused before a template runs.
[[nodiscard]] bool is_filter(std::string_view name);
[[nodiscard]] bool is_test(std::string_view name);

}  // namespace headlight::text::jinja
