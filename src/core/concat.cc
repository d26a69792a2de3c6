#include "core/concat.h"

#include <array>
#include <charconv>

namespace headlight {
namespace {

template <class T, class... Form>
void append_digits(std::string& to, T x, Form... form) {
  std::array<char, 32> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), x, form...);
  to.append(digits.data(), written.ptr);
}

}  // namespace

void append_number(std::string& to, double x) { append_digits(to, x, std::chars_format::general, 6); }
void append_number(std::string& to, long long x) { append_digits(to, x); }
void append_number(std::string& to, unsigned long long x) { append_digits(to, x); }

}  // namespace headlight
