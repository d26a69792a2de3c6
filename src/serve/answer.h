// What is asked and answered, without sockets.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::serve {

struct Ask {
  std::string method, path, query;
  std::string body;
  // True once the client has disconnected: its computation may stop.
  std::function<bool()> left = [] { return false; };
  bool takes_gzip = false;
};

struct Answer {
  int status = 200;
  std::string type = "application/json", body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Thrown out of a computation whose client has gone.
struct ClientLeft {};

// {"error": {"code": …, "message": …}}
[[nodiscard]] Answer failure(int status, std::string_view code, std::string_view message);
[[nodiscard]] Answer failure(int status);  // with the usual words

}  // namespace headlight::serve
