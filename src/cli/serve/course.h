// The course for the page: GET learn lists the chapters, GET learn/4 is one of them.
#pragma once

#include <span>
#include <string_view>

#include "serve/answer.h"

namespace headlight::cli {

[[nodiscard]] serve::Answer course_answer(const serve::HttpRequest& http,
                                          std::span<const std::string_view> path);

}  // namespace headlight::cli
