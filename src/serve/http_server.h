// The HTTP server: cpp-httplib's listener, threads and answers behind a stricter request parser.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "serve/answer.h"
#include "serve/connection.h"
#include "serve/gate.h"

namespace headlight::serve {

struct HttpOptions {
  int port = 0;  // 0: any free port
  std::string token;
  std::string lan = {};  // also listen on this address of the machine; empty: only for this machine
  Deadlines deadlines = {};
  std::size_t clients = 96;  // requests served at the same time; further ones get status 503
  // Headers of every answer.
  std::vector<std::pair<std::string, std::string>> headers = {};
  // called with one line for each request, safe to print; may be empty
  std::function<void(const std::string&)> log = nullptr;
};

// Headers of every answer: no type sniffing, no referrer, no framing by other pages, no caching.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> safe_headers();

class HttpServer {
 public:
  using Handler = std::function<Answer(const HttpRequest&)>;

  // Binds 127.0.0.1, or with `lan` all addresses. Throws Error{resource} when the port is taken.
  HttpServer(const HttpOptions& options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] int port() const noexcept;
  void run();            // until stop(); answers in progress are finished
  void stop() noexcept;  // from any thread

 private:
  class Strict;
  std::unique_ptr<Strict> server_;
};

}  // namespace headlight::serve
