// Chat templates: the language, the forms that published models use, and templates that misbehave.
#include "text/jinja.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::text::jinja {
namespace {

using headlight::testing::expect_error;

Value message(const char* role, const char* content) {
  return Object{.entries = {{"role", Value(role)}, {"content", Value(content)}}};
}

Object conversation(List messages, bool answer = true) {
  return {.entries = {{"messages", Value(std::move(messages))},
                      {"add_generation_prompt", Value(answer)},
                      {"bos_token", Value("<s>")},
                      {"eos_token", Value("</s>")},
                      {"tools", Value(None{})}}};
}

std::tm some_day() {
  std::tm day{};
  day.tm_year = 124;
  day.tm_mon = 6;
  day.tm_mday = 26;
  return day;
}

std::string render(std::string_view source, const Object& variables = {}) {
  return Template(source, "t.jinja").render(variables, some_day(), {});
}

// An expression's value, as it is printed.
std::string value(const std::string& expression) { return render("{{ " + expression + " }}"); }

TEST(Jinja, Expressions) {
  EXPECT_EQ(value("1 + 2 * 3 - 4 // 3"), "6");
  EXPECT_EQ(value("7 / 2"), "3.5");
  EXPECT_EQ(value("-7 // 2 ~ '|' ~ -7 % 3"), "-4|2");
  EXPECT_EQ(value("'a' + 'b' * 3"), "abbb");
  EXPECT_EQ(value("[1, 2] + [3]"), "[1, 2, 3]");
  EXPECT_EQ(value("{'a': [true, none, 1.5], 'b': \"it's\"}"), "{'a': [True, None, 1.5], 'b': \"it's\"}");
  EXPECT_EQ(value("not 1 == 2 and 'x' in 'xyz' or false"), "True");
  EXPECT_EQ(value("1 < 2 <= 2 != 3"), "True");
  EXPECT_EQ(value("'b' not in ['a', 'c']"), "True");
  EXPECT_EQ(value("'yes' if 0 else 'no'"), "no");
  EXPECT_EQ(value("'yes' if 0"), "");
  EXPECT_EQ(value("'abcdef'[1:-1] ~ 'abc'[::-1] ~ [1, 2, 3][-1] ~ [1, 2, 3][5:]"), "bcdecba3[]");
  EXPECT_EQ(value("'é語x'[1]"), "語");
  EXPECT_EQ(value("missing"), "");
  EXPECT_EQ(value("missing is defined or missing == 'x' or missing"), "");
  EXPECT_EQ(value("'a' 'b' \"\\u00e9\\n\""), "abé\n");
  EXPECT_EQ(
      value("2 is divisibleby 2 and 3 is odd and [] is iterable and {} is mapping and 'x' is not mapping"),
      "True");
}

TEST(Jinja, FiltersAndMethods) {
  EXPECT_EQ(value("'  x y '|trim|upper ~ ('A,b'.split(',')|join('-'))|lower"), "X Ya-b");
  EXPECT_EQ(value("{'a': 'é\"', 'n': [1, none]}|tojson"), "{\"a\": \"é\\\"\", \"n\": [1, null]}");
  EXPECT_EQ(value("{'a': [1]}|tojson(indent=2)"), "{\n  \"a\": [\n    1\n  ]\n}");
  EXPECT_EQ(value("missing|default('d') ~ ''|default('e', true) ~ 0|default('f')"), "de0");
  EXPECT_EQ(value("'hello world'|replace('o', '0')|title|length"), "11");
  EXPECT_EQ(value("[{'r': 'a'}, {'r': 'b'}]|map(attribute='r')|list"), "['a', 'b']");
  EXPECT_EQ(value("[{'r': 'a'}, {'r': 'b'}]|selectattr('r', 'equalto', 'b')|list|length"), "1");
  EXPECT_EQ(value("[1, 2, 3]|reject('odd')|first ~ ([3, 1, 2]|sort|last)"), "23");
  EXPECT_EQ(value("'<think>a</think>b'.split('</think>')[-1].lstrip('\\n')"), "b");
  EXPECT_EQ(value("' a b  c '.split() ~ 'x'.startswith(('y', 'x'))"), "['a', 'b', 'c']True");
  EXPECT_EQ(value("{'k': 1}.get('z', 5) ~ {'k': 1}.items()|list"), "5[('k', 1)]");
  EXPECT_EQ(value("strftime_now('%d %b %Y')"), "26 Jul 2024");
  EXPECT_EQ(value("'a\\nb'|indent(2)"), "a\n  b");
}

TEST(Jinja, Statements) {
  EXPECT_EQ(render("{% for x in [1, 2, 3] if x != 2 %}{{ loop.index }}:{{ x }}{% if not loop.last %}, {% "
                   "endif %}{% endfor %}"),
            "1:1, 2:3");
  EXPECT_EQ(render("{% for x in [] %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(render("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}"), "a1");
  EXPECT_EQ(render("{% for x in range(9) %}{% if x == 1 %}{% continue %}{% endif %}{% if x > 2 %}{% break "
                   "%}{% endif %}{{ x }}{% endfor %}"),
            "02");
  EXPECT_EQ(render("{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}"), "1");
  EXPECT_EQ(
      render("{% set n = namespace(x=1) %}{% for i in [1] %}{% set n.x = n.x + 1 %}{% endfor %}{{ n.x }}"),
      "2");
  EXPECT_EQ(render("{% macro f(a, b='B') %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}{{ f('x', b='y') }}"),
            "1Bxy");
  EXPECT_EQ(render("{% set t %}a{{ 1 }}{% endset %}{{ t|upper }}"), "A1");
  EXPECT_EQ(render("{% set a, b = [1, 2] %}{{ a }}{{ b }}"), "12");
  EXPECT_EQ(render("{% if 0 %}a{% elif 1 %}b{% else %}c{% endif %}"), "b");
  EXPECT_EQ(render("{% generation %}a{% endgeneration %}"), "a");
}

TEST(Jinja, WhiteSpaceAsModelsExpectIt) {
  EXPECT_EQ(render("a\n  {% if 1 %}\n  b\n  {% endif %}\nc\n"), "a\n  b\nc");
  EXPECT_EQ(render("a  {%- if 1 -%}\n  b  {%- endif -%}\n c"), "abc");
  EXPECT_EQ(render("a {{- 'b' -}} c\n\n"), "abc\n");
  EXPECT_EQ(render("  {# a note #}\nx {# b #} y"), "x  y");
  EXPECT_EQ(render("{{ 1 }}\nx"), "1\nx");
  EXPECT_EQ(render("a\r\nb"), "a\nb");
}

// Templates of our own with the constructs of published ones.
TEST(Jinja, FormsOfPublishedModels) {
  const List talk = {message("system", "Be brief."), message("user", " Hi "), message("assistant", "Hello!"),
                     message("user", "Bye")};
  const char* chatml =
      "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
      "'<|im_end|>' + '\n' }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
  EXPECT_EQ(render(chatml, conversation({message("user", "Hi")})),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  const char* headers =
      "{% set loop_messages = messages %}{% for message in loop_messages %}"
      "{% set content = '<|h|>' + message['role'] + '<|/h|>\n\n' + message['content'] | trim + '<|eot|>' %}"
      "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
      "{{ '<|h|>assistant<|/h|>\n\n' if add_generation_prompt }}";
  EXPECT_EQ(render(headers, conversation({message("user", " Hi ")})),
            "<s><|h|>user<|/h|>\n\nHi<|eot|><|h|>assistant<|/h|>\n\n");
  const char* alternating =
      "{%- if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] + '\n\n' %}{% set rest "
      "= messages[1:] %}"
      "{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}{{ bos_token }}{% for m in rest %}"
      "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') "
      "}}{% endif %}"
      "{% if m.role == 'user' %}{{ '[INST] ' + (first if loop.first else '') + m.content|trim + ' [/INST]' }}"
      "{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}";
  EXPECT_EQ(render(alternating, conversation(talk)),
            "<s>[INST] Be brief.\n\nHi [/INST] Hello!</s>[INST] Bye [/INST]");
  expect_error([&] { (void)render(alternating, conversation({message("assistant", "x")})); },
               ErrorKind::input, "chat.messages", "roles must alternate");
  const char* thinking =
      "{%- set ns = namespace(multi_step_tool=true, last=messages|length - 1) %}\n"
      "{%- for message in messages[::-1] %}\n    {%- set index = (messages|length - 1) - loop.index0 %}\n"
      "    {%- if ns.multi_step_tool and message.role == 'user' and message.content is string and "
      "not(message.content.startswith('<tool_response>')) %}\n        {%- set ns.multi_step_tool = false %}\n"
      "        {%- set ns.last = index %}\n    {%- endif %}\n{%- endfor %}\n"
      "{%- if add_generation_prompt %}\n    {{- '<|assistant|>' }}\n    {%- if enable_thinking is defined "
      "and "
      "enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}\n{%- "
      "endif %}{{ ns.last }}";
  EXPECT_EQ(render(thinking, conversation(talk)), "<|assistant|>3");
  const char* turns =
      "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'assistant' %}{% set role = "
      "'model' %}"
      "{% else %}{% set role = message['role'] %}{% endif %}{{ '<t>' + role + '\n' + message['content'] | "
      "trim + '</t>\n' }}"
      "{% endfor %}";
  EXPECT_EQ(render(turns, conversation({message("user", "a"), message("assistant", "b")})),
            "<s><t>user\na</t>\n<t>model\nb</t>\n");
}

TEST(Jinja, WhatIsNotUnderstoodIsNamed) {
  const auto refused = [](const std::string& source, const std::string& words) {
    expect_error([&] { (void)render(source); }, ErrorKind::input, "chat.template", words);
  };
  refused("a\n{% include 'x' %}", "t.jinja, line 2: {% include %} is not supported");
  refused("{{ x|shuffle }}", "the filter \"shuffle\" is not supported");
  refused("{{ x is tasty }}", "the test \"tasty\" is not supported");
  refused("{{ 'x'.encode() }}", "\"encode\" is not a supported method of a text");
  refused("{{ nothing() }}", "\"nothing\" is undefined, not a function");
  refused("{{ nothing.a.b }}", "\"nothing\" is undefined, so it has no parts");
  refused("{% if 1 %}", "{% endif %} is missing");
  refused("{% endfor %}", "without its beginning");
  refused("{{ 1 + 'a' }}", "\"+\" of a whole number and a text");
  refused("{{ 'a }}", "does not end");
  refused("{{ 1", "does not end");
  refused("{{ 1 // 0 }}", "divides by zero");
  refused("{{ 9223372036854775807 + 1 }}", "too large");
  refused("{% set x.y = 1 %}", "is not a namespace");
  refused("{{ namespace()|tojson }}", "cannot be written as JSON");
}

TEST(Jinja, TemplatesThatNeverEnd) {
  const auto refused = [](const std::string& source, const std::string& words) {
    expect_error([&] { (void)render(source); }, ErrorKind::input, "chat.template", words);
  };
  refused("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "more steps");
  refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "too deeply");
  refused("{{ 'a' * 1000000000 }}", "too large");
  refused("{{ range(1000000000) }}", "range()");
  refused(
      "{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
      "too large");
  refused("{% set n = namespace(a=[]) %}{% for i in range(999) %}{% set n.a = [n.a] %}{% endfor %}",
          "nested too deeply");
  refused("{% set n = namespace(a='x') %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %}", "");
  refused("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}", "nested too deeply");
  refused("{{ 1" + std::string(5000, '+') + "1 }}", "nested too deeply");
  // Namespaces that hold each other are given back (the leak checker looks).
  EXPECT_EQ(render("{% set n = namespace() %}{% set n.a = n %}{{ n.a.a.a is mapping }}"), "True");
}

}  // namespace
}  // namespace headlight::text::jinja
