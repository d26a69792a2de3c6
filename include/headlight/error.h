// Every refusal of the library is one exception type. Its first line says what was asked and what
// was found; hint lines may follow. Codes are stable names for tests.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace headlight {

enum class ErrorKind {
  usage,     // the call itself makes no sense: a bad option or argument
  input,     // data was refused: shapes, dtypes, damaged files
  file,      // the file system said no: missing, permission, disk full
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
