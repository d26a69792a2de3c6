#include "serve/answer.h"

#include "core/concat.h"
#include "io/json_writer.h"
#include "serve/gate.h"

namespace headlight::serve {

Answer failure(int status, std::string_view code, std::string_view message) {
  Answer answer;
  answer.status = status;
  io::JsonWriter w;
  w.begin_object().key("error").begin_object().field("code", code).field("message", message);
  answer.body = w.end_object().end_object().take_line();
  if (status == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

Answer failure(int status) { return failure(status, concat("http.", status), status_words(status)); }

}  // namespace headlight::serve
