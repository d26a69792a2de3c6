// HTTP requests and answers, without sockets.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::serve {

struct HttpRequest {
  std::string method, path, query;
  std::string body;
  // True once the client has disconnected: its computation may stop.
  std::function<bool()> left = [] { return false; };
  bool takes_gzip = false;
};

// Sends a piece of an answer; false: the client has disconnected.
using Send = std::function<bool(std::string_view)>;

struct Answer {
  int status = 200;
  std::string type = "application/json", body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Sends the body piece by piece while it is computed. Does not throw.
  std::function<void(const Send& send)> stream = nullptr;
};

// Thrown by a computation whose client has disconnected.
struct ClientLeft {};

// {"error": {"code": …, "message": …}}
[[nodiscard]] Answer failure(int status, std::string_view code, std::string_view message);
[[nodiscard]] Answer failure(int status);  // with the standard text of the status

}  // namespace headlight::serve
