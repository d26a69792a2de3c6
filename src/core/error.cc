#include "headlight/error.h"

namespace headlight {

Error::Error(ErrorKind kind, std::string_view code, const std::string& message)
    : std::runtime_error(message), kind_(kind), code_(code) {}

}  // namespace headlight
