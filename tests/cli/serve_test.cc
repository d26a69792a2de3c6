// headlight serve and show --html, as users run them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/places.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class Serve : public ::testing::Test {
 protected:
  Serve() {
    std::filesystem::create_directory(folder_.root() / "en-fr");
    write_small_model(folder_.path("en-fr"), SmallKind::translator);
    std::filesystem::create_directory(folder_.root() / "en");
    write_small_model(folder_.path("en"), SmallKind::decoder);
  }
  Finished run(std::vector<std::string> arguments, std::function<void()> in_child = {}) const {
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + folder_.root().string());
    launch.in_child = std::move(in_child);
    return run_program(launch);
  }
  TempFolder folder_;
};

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{60};  // a machine may be busy with other things

// A port that nobody has now. The usual one may be wanted by another test.
std::string free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return std::to_string(ntohs(address.sin_port));
}

// The program in the background, with what it prints first.
class Background {
 public:
  Background(const TempFolder& models, std::vector<std::string> arguments) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(pipe[1], STDOUT_FILENO);
      ::setenv("HEADLIGHT_MODELS", models.root().c_str(), 1);
      ::unsetenv("DISPLAY");
      ::unsetenv("WAYLAND_DISPLAY");
      arguments.insert(arguments.begin(), {program_path(), "serve"});
      std::vector<char*> list;
      for (std::string& argument : arguments) list.push_back(argument.data());
      list.push_back(nullptr);
      ::execv(list[0], list.data());
      ::_exit(127);
    }
    ::close(pipe[1]);
    std::array<char, 4096> buffer{};
    const auto end = Clock::now() + kPatience;
    while (text_.find("Ctrl-C stops the server.\n") == std::string::npos && Clock::now() < end) {
      pollfd poll{.fd = pipe[0], .events = POLLIN, .revents = 0};
      if (::poll(&poll, 1, 100) <= 0) continue;
      const ssize_t n = ::read(pipe[0], buffer.data(), buffer.size());
      if (n <= 0) break;
      text_.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(pipe[0]);
  }
  ~Background() {
    if (child_ > 0) (void)end(SIGKILL);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Its exit code, or minus the signal that ended it: SIGKILL when it would not end.
  int end(int signal) {
    ::kill(child_, signal);
    int status = 0;
    const auto end = Clock::now() + kPatience;
    while (::waitpid(child_, &status, WNOHANG) == 0) {
      if (Clock::now() > end) ::kill(child_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] int port() const {
    const std::size_t at = text_.find("127.0.0.1:");
    return at == std::string::npos ? 0 : std::atoi(text_.c_str() + at + 10);
  }
  [[nodiscard]] std::string get(const std::string& path) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string all;
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      const std::string text = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port()) +
                               "\r\nConnection: close\r\n\r\n";
      (void)!::write(socket, text.data(), text.size());
      std::array<char, 65536> buffer{};
      for (ssize_t n = 0; (n = ::read(socket, buffer.data(), buffer.size())) > 0;)
        all.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(socket);
    return all;
  }

 private:
  pid_t child_ = -1;
  std::string text_;
};

TEST_F(Serve, PrintsItsLinkServesThePageAndEndsInGoodOrder) {
  const std::string own = free_port();
  Background server(folder_, {"--at", "h=1.0&q=2", "--port", own});
  EXPECT_THAT(server.text(),
              MatchesRegex("Headlight is at http://127.0.0.1:[0-9]+/#token=[A-Za-z0-9_-]+&h=1.0&q=2\n"
                           "  On another machine: ssh -L [0-9]+:127.0.0.1:[0-9]+ THIS-MACHINE, .*\n(.|\n)*"));
  const std::string page = server.get("/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, HasSubstr("<title>Headlight</title>"));
  EXPECT_THAT(server.get("/api/v1/health"), HasSubstr("{\"ok\": true}"));
  EXPECT_THAT(server.get("/api/v1/models"), StartsWith("HTTP/1.1 401"));
  for (const char* path : {"/../etc/passwd", "/%2e%2e%2fetc/passwd", "/%252e%252e/", "/..\\x", "//etc/passwd",
                           "/web/page.html", "/%00"})
    EXPECT_THAT(server.get(path), StartsWith("HTTP/1.1 404")) << path;
  EXPECT_EQ(std::to_string(server.port()), own);
  EXPECT_EQ(server.end(SIGTERM), 128 + SIGTERM);
  Background again(folder_, {"--port", own});  // it is free at once
  EXPECT_EQ(std::to_string(again.port()), own);
  EXPECT_EQ(again.end(SIGINT), 128 + SIGINT);
}

TEST_F(Serve, SaysWhatIsWrong) {
  const Background server(folder_, {});
  const auto refused = [&](std::vector<std::string> arguments, int code, const std::string& words) {
    arguments.insert(arguments.begin(), "serve");
    const Finished done = run(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(words));
  };
  refused({"--port", std::to_string(server.port())}, 5, "is taken");
  refused({"--model", "gpt9"}, 4, "\"gpt9\" was not found");
  refused({"--model", "en", "--model", "en"}, 2, "another model has the same name");
  refused({"--at", "<script>"}, 2, "a view as printed by headlight show");
  refused({"--port", "0"}, 2, "--port");
  refused({"--port", "65536"}, 2, "--port");
}

TEST_F(Serve, ShowWritesAPage) {
  const std::string path = folder_.path("page.html");
  const Finished done = run({"show", "the cat sat", "--model", "en-fr", "--part", "cross", "--html", path});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("page.html, 0."));
  std::ostringstream bytes;
  bytes << std::ifstream(path).rdbuf();
  EXPECT_THAT(bytes.str(), StartsWith("<!doctype html>"));
  EXPECT_EQ(run({"show", "the cat sat", "--model", "en-fr", "--html", path}).code, 4);  // it is there already
  const Finished small =
      run({"show", "the cat sat", "--model", "en", "--html", folder_.path("b.html"), "--max-size", "0.01MB"});
  EXPECT_EQ(small.code, 5);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("b.html")));
  EXPECT_EQ(run({"show", "--ids", "5,6", "--model", "en", "--html", folder_.path("c.html")}).code, 2);
}

TEST_F(Serve, TwoTextsAreForEncoders) {
  std::filesystem::create_directory(folder_.root() / "bert");
  write_small_model(folder_.path("bert"), SmallKind::encoder);
  const auto show = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"show", "the cat sat", "--second", "it was tired", "--head", "0.0"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Finished done = show({"--model", "bert", "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\"text\": \"the cat sat / it was tired\""));
  EXPECT_THAT(done.out,
              HasSubstr("[\"[CLS]\", \"the\", \"cat\", \"sat\", \"[SEP]\", \"it\", \"was\", \"ti\", "
                        "\"red\", \"[SEP]\"]"));
  EXPECT_EQ(show({"--model", "bert", "--html", folder_.path("pair.html")}).code, 0);
  const Finished refused = show({"--model", "en"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("\"en\" reads one text; only encoders such as BERT read two"));
  EXPECT_EQ(show({"--model", "bert", "--type-ids", "0,1"}).code, 2);
}

TEST_F(Serve, ShowEndsWithTheViewOnATerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "this machine gives no terminal (is /dev/pts mounted?)";
  ::grantpt(terminal);
  ::unlockpt(terminal);
  const std::string name = ::ptsname(terminal);
  std::thread drain([&] {  // or the program would wait for its reader
    std::array<char, 4096> buffer{};
    while (::read(terminal, buffer.data(), buffer.size()) > 0) {}
  });
  const int keep = ::open(name.c_str(), O_RDWR | O_NOCTTY);
  const auto show = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"show", "the cat's mat", "--model", "en", "--head", "1.0"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words, [&] {
      const int fd = ::open(name.c_str(), O_RDWR | O_NOCTTY);
      ::dup2(fd, STDOUT_FILENO);
    });
  };
  const Finished done = show({"--query", "cat"});
  const Finished looks = show({"--palette", "grey", "--color-range", "auto", "--color-scale", "log",
                               "--mute-special", "--renormalize", "--words"});
  const Finished scores = show({"--of", "scores"});
  ::close(keep);
  drain.join();
  ::close(terminal);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(
      done.err,
      HasSubstr(
          "In the browser: headlight serve --model en --at 't=the%20cat%27s%20mat&p=decoder&h=1.0&q=2'\n"));
  EXPECT_THAT(looks.err, HasSubstr("&s=log&c=grey&r=auto&f=special,whole,words'\n"));
  EXPECT_THAT(scores.err, HasSubstr("&d=scores'\n"));
}

}  // namespace
}  // namespace headlight::testing
