#include "serve/http_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::serve {
namespace {

// The stream that cpp-httplib reads contains only checked parts of the request. Its output goes to the
// client.
class CheckedStream : public httplib::Stream {
 public:
  CheckedStream(std::string head, Connection& connection, int socket)
      : head_(std::move(head)), connection_(connection), socket_(socket) {}

  [[nodiscard]] bool is_readable() const override { return at_ < head_.size(); }
  [[nodiscard]] bool is_writable() const override { return true; }
  ssize_t read(char* data, std::size_t size) override {
    const std::size_t count = std::min(size, head_.size() - at_);
    std::memcpy(data, head_.data() + at_, count);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, std::size_t size) override {
    return connection_.write(data, size) ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = "127.0.0.1";
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override { get_remote_ip_and_port(ip, port); }
  [[nodiscard]] socket_t socket() const override { return socket_; }

 private:
  std::string head_;
  std::size_t at_ = 0;
  Connection& connection_;
  int socket_;
};

struct Exchange {
  const HttpHead* head = nullptr;
  std::string body;
  Connection* connection = nullptr;
};
thread_local Exchange* t_exchange = nullptr;  // between our reader and the handler that cpp-httplib calls
thread_local bool t_full = false;             // this client arrived when all threads were busy

// As many threads as clients, started when needed. If there are too many clients, the listener sends the
// refusal itself.
class ClientThreads : public httplib::TaskQueue {
 public:
  // Returns nothing in cpp-httplib 0.11 (Debian 12), and whether there was space in 0.14 (Ubuntu 24.04) and later.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));

  explicit ClientThreads(std::size_t most) : most_(most) {}
  Enqueued enqueue(std::function<void()> task) override {
    {
      std::unique_lock lock(mutex_);
      if (idle_ > tasks_.size() || threads_.size() < most_) {
        tasks_.push_back(std::move(task));
        if (idle_ < tasks_.size()) threads_.emplace_back([this] { work(); });
        lock.unlock();
        wake_.notify_one();
        return static_cast<Enqueued>(true);
      }
    }
    t_full = true;
    task();
    t_full = false;
    return static_cast<Enqueued>(true);
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    for (std::unique_lock lock(mutex_);;) {
      ++idle_;
      wake_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::size_t most_, idle_ = 0;
  bool ending_ = false;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> safe_headers() {
  return {{"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"X-Frame-Options", "DENY"},
          {"Cache-Control", "no-store"}};
}

class HttpServer::Strict : public httplib::Server {
 public:
  Strict(const HttpOptions& options, HttpServer::Handler handler)
      : options_(options), handler_(std::move(handler)) {
    new_task_queue = [this] {
      if (stopping_) end_listening();  // stop() was called before listening began
      return new ClientThreads(options_.clients);
    };
    set_tcp_nodelay(true);
    set_socket_options([](socket_t socket) {  // never SO_REUSEPORT: a second server must not share the port
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_pre_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      answer(response);
      return HandlerResponse::Handled;
    });
    gate_.token = options_.token;
    gate_.lan = options_.lan;
    const char* host = options_.lan.empty() ? "127.0.0.1" : "0.0.0.0";
    gate_.port = options_.port == 0 ? bind_to_any_port(host)
                                    : (bind_to_port(host, options_.port) ? options_.port : -1);
    constexpr int queue =
        128;  // cpp-httplib's default of five is too few: a browser opens more connections, which would wait for seconds
    (void)::listen(svr_sock_.load(), queue);
    if (gate_.port <= 0) {
      throw Error(
          ErrorKind::resource, "serve.port",
          concat("port ", options_.port, " of 127.0.0.1 is taken\nGive another one with --port, or none."));
    }
  }

  [[nodiscard]] int port() const noexcept { return gate_.port; }
  void halt() noexcept {
    stopping_ = true;
    end_listening();
  }

 private:
  // cpp-httplib's stop() does nothing before it listens, and may be called once.
  void end_listening() noexcept {
    const std::lock_guard lock(ending_);
    if (is_running() && svr_sock_.load() != INVALID_SOCKET) stop();
  }

  bool process_and_close_socket(socket_t socket) override {
    const std::function<bool()> stopping = [this] { return stopping_.load(); };
    Connection connection(socket, options_.deadlines, stopping);
    if (t_full) say(connection, nullptr, 503);
    else
      while (serve_one(connection, socket)) {}
    connection.finish();
    ::close(socket);
    return true;
  }

  // Later versions of cpp-httplib also need the addresses of both ends, which are not used here.
  template <class Server>
  static bool process(Server& server, httplib::Stream& stream, bool close, bool& closed) {
    if constexpr (requires { server.process_request(stream, close, closed, nullptr); }) {
      return server.process_request(stream, close, closed, nullptr);
    } else {
      return server.process_request(stream, "127.0.0.1", 0, "127.0.0.1", 0, close, closed, nullptr);
    }
  }

  // Serves one request; true if another one may follow.
  bool serve_one(Connection& connection, int socket) {
    std::string bytes;
    const Connection::Got got = connection.read_head(bytes);
    if (got == Connection::Got::too_long) return say(connection, nullptr, 431);
    if (got != Connection::Got::all) return false;
    HttpHead head = parse_head(bytes);
    if (head.status != 0) return say(connection, &head, head.status);
    if (const int status = gate_.refusal(head); status != 0) return say(connection, &head, status);
    Exchange exchange{.head = &head, .body = {}, .connection = &connection};
    if (head.body > 0) {
      connection.allow_write();
      constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      if (head.expects_continue) (void)connection.write(go_on.data(), go_on.size());
      if (connection.read_body(head.body, exchange.body) != Connection::Got::all) return false;
    }
    const bool close = !head.keep_alive || stopping_;
    CheckedStream stream(concat(head.method, " / HTTP/1.1\r\nHost: localhost\r\n",
                                close ? "Connection: close\r\n\r\n" : "\r\n"),
                         connection, socket);
    t_exchange = &exchange;
    bool closed = false;
    const bool well = process(*this, stream, close, closed);
    t_exchange = nullptr;
    return well && !closed && !close;
  }

  void answer(httplib::Response& response) {
    const Exchange& exchange = *t_exchange;
    const HttpHead& head = *exchange.head;
    HttpRequest http{.method = head.method, .path = head.path, .query = head.query, .body = exchange.body};
    http.left = [&] { return exchange.connection->client_left(); };
    http.takes_gzip = head.header("accept-encoding").value_or("").find("gzip") != std::string_view::npos;
    const Answer answer = handler_(http);
    exchange.connection->allow_write();
    response.status = answer.status;
    for (const auto& [name, value] : options_.headers) response.set_header(name, value);
    for (const auto& [name, value] : answer.headers) response.set_header(name, value);
    if (answer.stream) stream(response, answer);
    else response.set_content(answer.body, answer.type);
    log(&head, answer.status, answer.body.size());
  }

  // cpp-httplib calls this in the same thread once the head is written. Each piece has the time limit of a whole answer.
  static void stream(httplib::Response& response, const Answer& answer) {
    response.set_chunked_content_provider(
        answer.type,
        [work = answer.stream, connection = t_exchange->connection](std::size_t, httplib::DataSink& sink) {
          work([&](std::string_view piece) {
            connection->allow_write();
            return sink.write(piece.data(), piece.size());
          });
          sink.done();
          return true;
        });
  }

  // Sends a refusal, after which the connection is closed.
  bool say(Connection& connection, const HttpHead* head, int status) {
    const Answer answer = failure(status);
    std::string text = concat("HTTP/1.1 ", status, " Refused",
                              "\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ",
                              answer.body.size(), "\r\n");
    for (const auto& [name, value] : options_.headers) text += concat(name, ": ", value, "\r\n");
    for (const auto& [name, value] : answer.headers) text += concat(name, ": ", value, "\r\n");
    text += "\r\n";
    if (head == nullptr || head->method != "HEAD") text += answer.body;
    connection.allow_write();
    (void)connection.write(text.data(), text.size());
    log(head, status, answer.body.size());
    return false;
  }

  void log(const HttpHead* head, int status, std::size_t bytes) const {
    if (!options_.log) return;
    const std::string_view method = head != nullptr ? std::string_view(head->method) : "-";
    const std::string_view path = head != nullptr ? std::string_view(head->path) : "-";
    options_.log(fmt::format("{} {} {} {}", status, escaped(method, 20), escaped(path, 120), bytes));
  }

  HttpOptions options_;
  HttpServer::Handler handler_;
  Gate gate_;
  std::atomic<bool> stopping_{false};
  std::mutex ending_;
};

HttpServer::HttpServer(const HttpOptions& options, Handler handler)
    : server_(std::make_unique<Strict>(options, std::move(handler))) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const noexcept { return server_->port(); }
void HttpServer::run() { server_->listen_after_bind(); }
void HttpServer::stop() noexcept { server_->halt(); }

}  // namespace headlight::serve
