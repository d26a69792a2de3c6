// The viewer's page, one self-contained HTML file (web/page.html) inside the program.
#pragma once

#include <string>
#include <string_view>

namespace headlight::serve {

[[nodiscard]] std::string_view page_html();
// The content security policy in the page: only its own script and style, by their hashes.
[[nodiscard]] std::string page_policy();
// The page with data inside, for reading without a server.
[[nodiscard]] std::string page_with_data(std::string_view bytes);

}  // namespace headlight::serve
