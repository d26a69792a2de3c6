// Bytes as text, for JSON and for the data of a saved page.
#pragma once

#include <string>
#include <string_view>

namespace headlight::serve {

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace headlight::serve
