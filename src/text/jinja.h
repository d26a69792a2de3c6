// Chat templates: the format of a model's conversations, a program in the model's files. They are untrusted and run within
// limits on steps, so that a template without end fails at the same step on every machine.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "text/jinja_value.h"

namespace headlight::text::jinja {

struct Node;

struct Limits {
  std::uint64_t steps = 2'000'000;            // and 50 for each byte of the variables
  std::size_t output = std::size_t{1} << 26;  // bytes
};

class Template {
 public:
  // Throws Error{input} for unsupported syntax, with the name and the line.
  Template(std::string_view source, std::string name);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  // `now` is what strftime_now() formats. Throws Error{input}: chat.template for a template that fails or takes too
  // long, chat.messages for what the template itself refuses by raise_exception().
  [[nodiscard]] std::string render(const Object& variables, const std::tm& now, const Limits& limits) const;

 private:
  std::string name_;
  std::unique_ptr<const Node> root_;
};

}  // namespace headlight::text::jinja
