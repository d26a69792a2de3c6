// The first screen as text.
#pragma once

#include <string>

#include "cli/page.h"
#include "session/glance.h"

namespace headlight::cli {

// `program`: its name in hints.
[[nodiscard]] std::string look_text(const session::Glance& glance, const std::string& program,
                                    const PageStyle& style);

}  // namespace headlight::cli
