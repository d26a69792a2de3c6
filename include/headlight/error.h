// All errors of the library are one exception type. The first line says what was asked and what was
// found; hint lines may follow. Codes are stable names for tests.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace headlight {

enum class ErrorKind {
  usage,     // invalid option or argument
  input,     // invalid data: shapes, dtypes, damaged files
  file,      // file system error: missing, permission, disk full
  resource,  // not enough memory or another limit
  numeric,   // a computation failed: a non-finite loss
  peer,      // another process was lost
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view code, const std::string& message);

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  // A stable name such as "attention.heads": the part before the dot is the area.
  [[nodiscard]] const std::string& code() const noexcept { return code_; }

 private:
  ErrorKind kind_;
  std::string code_;
};

}  // namespace headlight

#pragma GCC visibility pop
