#include "cli/serve/course.h"

#include "learn/chapter_html.h"
#include "learn/course.h"
#include "serve/requests.h"

namespace headlight::cli {

serve::Answer course_answer(const serve::HttpRequest& /*http*/, std::span<const std::string_view> path) {
  if (path.empty()) return {.body = learn::course_list_json()};
  const auto number = serve::parse_count(path[0]);
  if (path.size() != 1 || !number || *number < 1 || *number > learn::kChapters) return serve::failure(404);
  return {.body = learn::chapter_json(static_cast<int>(*number))};
}

}  // namespace headlight::cli
