#include "serve/answer.h"

#include "core/concat.h"
#include "io/json.h"
#include "serve/gate.h"

namespace headlight::serve {

Answer failure(int status, std::string_view code, std::string_view message) {
  Answer answer;
  answer.status = status;
  answer.body = concat("{\"error\": {\"code\": ", io::json_quoted(code),
                       ", \"message\": ", io::json_quoted(message), "}}\n");
  if (status == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

Answer failure(int status) { return failure(status, concat("http.", status), status_words(status)); }

}  // namespace headlight::serve
