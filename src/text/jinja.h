// Chat templates: the format of a model's conversations, a program in the model's files. They are untrusted and run with
// a limit on steps, so that an endless template fails at the same step on every machine.
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

  // `now` is the time for strftime_now(). Throws Error{input}: chat.template for a template that fails or takes too
  // long, chat.messages for messages that the template rejects by raise_exception().
  [[nodiscard]] std::string render(const Object& variables, const std::tm& now, const Limits& limits) const;

 private:
  std::string name_;
  std::unique_ptr<const Node> root_;
};

}  // namespace headlight::text::jinja
