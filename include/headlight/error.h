// Every refusal of the library is one exception type. Its first line says what was asked and what
// was found; hint lines may follow. Kinds map to exit codes, codes are stable names for tests.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace headlight {

enum class ErrorKind {
  usage = 2,     // the call itself makes no sense: a bad option or argument
  input = 3,     // data was refused: shapes, dtypes, damaged files
  file = 4,      // the file system said no: missing, permission, disk full
  resource = 5,  // not enough memory or another limit
  numeric = 6,   // a computation failed: a non-finite loss
  peer = 7,      // another process was lost
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view code, const std::string& message);

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  // A stable name such as "attention.heads": the part before the dot is the area.
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  [[nodiscard]] int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
  std::string code_;
};

}  // namespace headlight

#pragma GCC visibility pop
