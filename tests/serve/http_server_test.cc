// The server over real sockets: strangers, slow ones, those who leave, and many at once.
#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/concat.h"

namespace headlight::serve {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kToken = "0123456789abcdef0123456789abcdef";

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  [[nodiscard]] bool connected() const { return connected_; }
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // Until the server closes, or `until` has been seen.
  std::string receive(std::string_view until = "") const {
    std::string all;
    char buffer[65536];
    for (;;) {
      const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
      if (n <= 0) return all;
      all.append(buffer, static_cast<std::size_t>(n));
      if (!until.empty() && all.find(until) != std::string::npos) return all;
    }
  }
  int socket_;

 private:
  bool connected_ = false;
};

class Server : public ::testing::Test {
 protected:
  explicit Server(Deadlines deadlines = {}, std::size_t clients = 96) {
    HttpOptions options;
    options.token = kToken;
    options.deadlines = deadlines;
    options.clients = clients;
    options.headers = safe_headers();
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    };
    server_ = std::make_unique<HttpServer>(options, [this](const HttpRequest& http) { return answer(http); });
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Server() override {
    server_->stop();
    thread_.join();
  }
  Answer answer(const HttpRequest& http) {
    if (http.path == "/api/v1/slow") {
      for (int i = 0; i < 500; ++i) {
        if (http.left()) {
          left_ = true;
          throw_ = false;
          return failure(499, "client", "left");
        }
        std::this_thread::sleep_for(10ms);
      }
    }
    if (http.path == "/stream") {
      Answer answer{.type = "text/plain"};
      answer.stream = [this, left = http.left](const Send& send) {
        (void)send("first");
        for (int i = 0; i < 500 && !go_on_ && !left(); ++i) std::this_thread::sleep_for(10ms);
        left_ = left();
        (void)send("second");
      };
      return answer;
    }
    if (http.path == "/big") return {.type = "text/plain", .body = std::string(std::size_t{16} << 20, 'x')};
    return {.type = "text/plain", .body = http.method + " " + http.path + " " + http.body};
  }
  [[nodiscard]] std::string host() const {
    return "Host: 127.0.0.1:" + std::to_string(server_->port()) + "\r\n";
  }
  [[nodiscard]] std::string exchange(const std::string& text) const {
    const Client client(server_->port());
    (void)client.send(text);
    return client.receive();
  }
  [[nodiscard]] std::string get(const std::string& path, const std::string& more = "") const {
    return exchange("GET " + path + " HTTP/1.1\r\n" + host() + more + "Connection: close\r\n\r\n");
  }
  [[nodiscard]] static int status(const std::string& answer) {
    return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : -1;
  }
  std::mutex mutex_;
  std::vector<std::string> log_;
  std::atomic<bool> left_{false}, throw_{true}, go_on_{false};
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(Server, SendsAStreamPieceByPiece) {
  const Client client(server_->port());
  const std::string request = "GET /stream HTTP/1.1\r\n" + host();
  ASSERT_TRUE(client.send(request + "\r\n"));
  const std::string first = client.receive("first");
  EXPECT_THAT(first, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(first, Not(HasSubstr("second")));  // it waits for us
  go_on_ = true;
  EXPECT_THAT(client.receive("0\r\n\r\n"), HasSubstr("second"));
  EXPECT_FALSE(left_);
  // The connection is good for another request; a client that leaves is noticed.
  ASSERT_TRUE(client.send("GET /after HTTP/1.1\r\n" + host() + "\r\n"));
  EXPECT_THAT(client.receive("/after"), HasSubstr("GET /after"));
  go_on_ = false;
  {
    const Client leaving(server_->port());
    ASSERT_TRUE(leaving.send(request + "\r\n"));
    EXPECT_THAT(leaving.receive("first"), HasSubstr("first"));
  }
  for (int i = 0; i < 500 && !left_; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(left_);
}

TEST_F(Server, AnswersItsOwnPageOnly) {
  EXPECT_THAT(get("/"), HasSubstr("GET / "));
  EXPECT_EQ(status(exchange("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")), 403);
  EXPECT_EQ(status(exchange("GET / HTTP/1.1\r\n\r\n")), 400);
  EXPECT_EQ(status(exchange("GET / HTTP/1.1\r\n" + host() + host() + "\r\n")), 400);
  EXPECT_EQ(status(get("/api/v1/models")), 401);
  EXPECT_EQ(status(get("/api/v1/models", "X-Headlight-Token: " + kToken + "\r\n")), 200);
  const std::string preflight =
      exchange("OPTIONS /api/v1/run HTTP/1.1\r\n" + host() + "Origin: http://evil.example\r\n\r\n");
  EXPECT_EQ(status(preflight), 403);
  EXPECT_THAT(preflight, Not(HasSubstr("Access-Control")));
}

TEST_F(Server, SafeHeadersAreEverywhere) {
  for (const std::string& answer : {get("/"), get("/api/v1/models"), exchange("BAD\r\n\r\n")}) {
    EXPECT_THAT(answer, HasSubstr("nosniff"));
    EXPECT_THAT(answer, HasSubstr("no-store"));
    EXPECT_THAT(answer, HasSubstr("X-Frame-Options: DENY"));
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
    EXPECT_THAT(answer, Not(HasSubstr("httplib")));
  }
}

TEST_F(Server, RefusedBytesEndTheConnection) {
  const std::string post = "POST /api/v1/run HTTP/1.1\r\n" + host() +
                           "Content-Type: application/json\r\nX-Headlight-Token: " + kToken + "\r\n";
  EXPECT_EQ(status(exchange(post + "Content-Length: 100000000\r\n\r\n")), 413);
  EXPECT_EQ(status(exchange(post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n")), 413);
  EXPECT_EQ(status(exchange(post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(status(exchange("GET / HTTP/1.1\nHost: x\n\n" + std::string(70000, 'a'))),
            431);  // never an empty line
  EXPECT_EQ(status(exchange("GET / HTTP/1.1\r\n" + host() + "A: " + std::string(70000, 'a'))), 431);
  std::string many;
  for (int i = 0; i < 10000; ++i) many += "A: b\r\n";
  EXPECT_EQ(status(exchange("GET / HTTP/1.1\r\n" + many + "\r\n")), 431);
  EXPECT_EQ(status(exchange("GET /" + std::string(10000, 'a') + " HTTP/1.1\r\n" + host() + "\r\n")), 414);
  EXPECT_EQ(status(exchange("FROB / HTTP/1.1\r\n" + host() + "\r\n")), 405);
  EXPECT_EQ(status(exchange("GET / HTTP/9.9\r\n" + host() + "\r\n")), 505);
  EXPECT_EQ(status(exchange(std::string("\x16\x03\x01\x02\x00\x01", 6) + "\r\n\r\n")), 400);
  EXPECT_EQ(status(get("/")), 200);  // and it is still there
}

TEST_F(Server, BodiesAndKeepAlive) {
  const Client client(server_->port());
  const std::string post = "POST /api/v1/echo HTTP/1.1\r\n" + host() +
                           "Content-Type: application/json\r\nX-Headlight-Token: " + kToken + "\r\n";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(post + "Content-Length: 4\r\n\r\n{\"\"}"));
    EXPECT_THAT(client.receive("{\"\"}"), StartsWith("HTTP/1.1 200"));
  }
  ASSERT_TRUE(client.send(post + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_THAT(client.receive("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  ASSERT_TRUE(client.send("{}"));
  EXPECT_THAT(client.receive("{}"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Server, RangesAndUpgradesAreIgnored) {
  const std::string answer = get("/", "Range: bytes=0-0,1-1,2-2\r\nUpgrade: websocket\r\n");
  EXPECT_EQ(status(answer), 200);
  EXPECT_THAT(answer, Not(HasSubstr("Content-Range")));
}

TEST_F(Server, ManyPipelinedRequestsAreAnsweredOneByOne) {
  const Client client(server_->port());
  std::string all;
  for (int i = 0; i < 1000; ++i)
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\n" + host() +
           (i == 999 ? "Connection: close\r\n" : "") + "\r\n";
  std::thread sender([&] { (void)client.send(all); });
  const std::string answers = client.receive();
  sender.join();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 1000U);
}

TEST_F(Server, LogLinesStayLines) {
  (void)get("/a%0aINJECTED%1b[31m", "User-Agent: x\x1b[31m\r\n");
  (void)exchange("GET /b\x1b[31m HTTP/1.1\r\n" + host() + "\r\n");
  const std::lock_guard lock(mutex_);
  for (const std::string& line : log_) EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos) << line;
  EXPECT_GE(log_.size(), 2U);
}

TEST_F(Server, WorkEndsWhenTheClientLeaves) {
  {
    const Client client(server_->port());
    ASSERT_TRUE(
        client.send("GET /api/v1/slow HTTP/1.1\r\n" + host() + "X-Headlight-Token: " + kToken + "\r\n\r\n"));
    std::this_thread::sleep_for(100ms);
  }
  const auto start = std::chrono::steady_clock::now();
  while (!left_ && std::chrono::steady_clock::now() - start < 20s) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(left_);
}

TEST_F(Server, SixtyFourClientsAtOnce) {
  std::atomic<int> well = 0, other = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string path = concat("/", t, "/", i);
        const std::string answer = get(path);
        if (status(answer) == 200 && answer.ends_with("GET " + path + " ")) ++well;
        else if (status(answer) != 503) ++other;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(other, 0);
  EXPECT_GT(well, 1000);
}

class ImpatientServer : public Server {
 protected:
  ImpatientServer() : Server({.head = 300ms, .body = 300ms, .write = 300ms, .idle = 300ms}, 4) {}
};

TEST_F(ImpatientServer, SlowClientsLoseTheirPlace) {
  const auto takes = [&](const std::function<void(const Client&)>& slowly) {
    const Client client(server_->port());
    const auto start = std::chrono::steady_clock::now();
    slowly(client);
    (void)client.receive();
    return std::chrono::steady_clock::now() - start;
  };
  EXPECT_LT(takes([](const Client&) {}), 3s);                               // says nothing
  EXPECT_LT(takes([](const Client& c) { (void)c.send("GET / HT"); }), 3s);  // stops in the head
  EXPECT_LT(takes([](const Client& c) {                                     // a byte now and then
              for (int i = 0; i < 20 && c.send("A"); ++i) std::this_thread::sleep_for(50ms);
            }),
            3s);
  EXPECT_LT(takes([this](const Client& c) {
              (void)c.send("POST /api/v1/run HTTP/1.1\r\n" + host() +
                           "Content-Type: application/json\r\nX-Headlight-Token: " + kToken +
                           "\r\nContent-Length: 100\r\n\r\n{");
            }),
            3s);
  EXPECT_EQ(status(get("/")), 200);
}

class ServerForReaders : public Server {  // its patience with readers is short, and with writers long
 protected:
  ServerForReaders() : Server({.head = 20s, .body = 20s, .write = 2500ms, .idle = 20s}, 4) {}
};

TEST_F(ServerForReaders, SlowReadersLoseTheirPlace) {
  std::vector<std::unique_ptr<Client>> slow;  // as many as there are places, and none of them reads on
  for (int i = 0; i < 4; ++i) slow.push_back(std::make_unique<Client>(server_->port()));
  const auto start = std::chrono::steady_clock::now();
  for (const auto& client : slow) ASSERT_TRUE(client->send("GET /big HTTP/1.1\r\n" + host() + "\r\n"));
  for (const auto& client : slow) ASSERT_THAT(client->receive("HTTP/1.1 200"), StartsWith("HTTP/1.1 200"));
  const int full = status(get("/"));
  const bool soon = std::chrono::steady_clock::now() - start < 2s;  // later they may have gone
  EXPECT_TRUE(full == 503 || !soon) << full;
  int found = 0;
  do {
    std::this_thread::sleep_for(20ms);
    found = status(get("/"));
  } while (found != 200 && std::chrono::steady_clock::now() - start < 20s);
  EXPECT_EQ(found, 200);
}

TEST_F(ImpatientServer, AClientTooManyIsToldToComeBack) {
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<Client>(server_->port()));
    (void)idle.back()->send("GET / HTTP/1.1\r\n");
  }
  std::this_thread::sleep_for(100ms);
  const std::string answer = get("/");
  EXPECT_EQ(status(answer), 503);
  EXPECT_THAT(answer, HasSubstr("Retry-After"));
  std::this_thread::sleep_for(800ms);
  EXPECT_EQ(status(get("/")), 200);
}

TEST(ServerPort, StoppingBeforeItRunsIsNotForgotten) {
  HttpServer server({.port = 0, .token = kToken}, [](const HttpRequest&) { return Answer{}; });
  server.stop();
  server.run();  // comes back
}

TEST(ServerPort, ATakenPortIsSaid) {
  const HttpServer first({.port = 0, .token = kToken}, [](const HttpRequest&) { return Answer{}; });
  try {
    const HttpServer second({.port = first.port(), .token = kToken},
                            [](const HttpRequest&) { return Answer{}; });
    FAIL() << "two servers on one port";
  } catch (const std::exception& error) { EXPECT_THAT(error.what(), HasSubstr("is taken")); }
}

}  // namespace
}  // namespace headlight::serve
