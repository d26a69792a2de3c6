// headlight lab playground --watch: two runs beside each other, keys on a terminal, and what is refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <sstream>

#include "cli/lab/watch_keys.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using cli::WatchKey;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> watch(const std::vector<std::string>& more, const char* steps) {
  std::vector<std::string> all = {"lab", "playground", "--watch", "--set", "task=sort", "--set", "layers=1"};
  for (const std::string setting : {"heads=1", "width=8"}) all.insert(all.end(), {"--set", setting});
  all.insert(all.end(), {"--set", std::string("steps=") + steps, "--threads", "1"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(WatchKeys, AreReadFromBytes) {
  EXPECT_THAT(cli::parse_keys(" s\x1b[D\x1bOCkq"),
              ElementsAre(WatchKey::pause, WatchKey::step, WatchKey::back, WatchKey::forward,
                          WatchKey::remove, WatchKey::stop));
  EXPECT_TRUE(cli::parse_keys("\x1b[A\x1b\x1b[xyz").empty());
}

TEST(Watch, TwoRunsBesideEachOther) {
  const TempFolder folder;
  const std::string strip = folder.path("strip.svg");
  const Finished done = run_program(watch({"--against", "heads=2", "--svg", strip}, "20"));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("as set\nstep   20 of 20"));
  EXPECT_THAT(done.out, HasSubstr("heads=2\nstep   20 of 20"));
  EXPECT_EQ(done.out.find('\x1b'), std::string::npos) << "no terminal, no control characters";
  std::ostringstream svg;
  svg << std::ifstream(strip).rdbuf();
  EXPECT_THAT(svg.str(), HasSubstr("1 layer of 1 head, width 8"));
  EXPECT_THAT(svg.str(), HasSubstr("1 layer of 2 heads, width 8"));
}

TEST(Watch, RefusesWhatMakesNoComparison) {
  const Finished same = run_program(watch({"--against", "heads=1"}, "5"));
  EXPECT_EQ(same.code, 2);
  EXPECT_THAT(same.err, HasSubstr("--against changes no setting"));
  const Finished tasks = run_program(watch({"--against", "task=copy", "--probe", "1 2 |"}, "5"));
  EXPECT_EQ(tasks.code, 2);
  EXPECT_THAT(tasks.err, HasSubstr("different tasks"));
  const Finished form = run_program(watch({"--against", "heads"}, "5"));
  EXPECT_EQ(form.code, 2);
  EXPECT_THAT(form.err, HasSubstr("--against \"heads\": need NAME=VALUE"));
  const Finished alone = run_program({"lab", "playground", "--against", "heads=2"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("need --watch"));
}

// A terminal whose other end is this test.
class Terminal {
 public:
  Terminal() : own_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (own_ < 0) return;
    ::grantpt(own_);
    ::unlockpt(own_);
    name_ = ::ptsname(own_);
    kept_ = ::open(name_.c_str(), O_RDWR | O_NOCTTY);
  }
  ~Terminal() {
    if (kept_ >= 0) ::close(kept_);
    if (own_ >= 0) ::close(own_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] bool is_there() const { return own_ >= 0; }
  void become_streams() const {
    const int fd = ::open(name_.c_str(), O_RDWR | O_NOCTTY);
    ::dup2(fd, STDIN_FILENO);
    ::dup2(fd, STDOUT_FILENO);
  }
  void press(std::string_view keys) const {
    EXPECT_EQ(::write(own_, keys.data(), keys.size()), ssize_t(keys.size()));
  }
  // Reads until the text has come, from where the last call stopped.
  bool shows(std::string_view text, std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
      if (const std::size_t at = seen_.find(text); at != std::string::npos) {
        seen_.erase(0, at + text.size());
        return true;
      }
      read_some();
    }
    return false;
  }
  void read_some() {
    pollfd input{.fd = own_, .events = POLLIN, .revents = 0};
    char bytes[4096];
    if (::poll(&input, 1, 100) <= 0) return;
    const ssize_t got = ::read(own_, bytes, sizeof bytes);
    if (got > 0) seen_.append(bytes, static_cast<std::size_t>(got));
  }
  [[nodiscard]] bool is_in_line_mode() const {
    termios mode{};
    return ::tcgetattr(kept_, &mode) == 0 && (mode.c_lflag & ICANON) != 0 && (mode.c_lflag & ECHO) != 0;
  }

 private:
  int own_ = -1, kept_ = -1;
  std::string name_, seen_;
};

TEST(Watch, KeysPauseStepScrubAndRemoveHeads) {
  Terminal terminal;
  if (!terminal.is_there()) GTEST_SKIP() << "this machine gives no terminal (is /dev/pts mounted?)";
  Launch launch{.arguments = watch({}, "5000")};
  launch.environment.push_back("TERM=xterm");
  launch.in_child = [&] { terminal.become_streams(); };
  auto done = std::async(std::launch::async, [&] { return run_program(launch); });
  EXPECT_TRUE(terminal.shows("q ends"));
  terminal.press(" ");
  EXPECT_TRUE(terminal.shows("paused. "));
  terminal.press("k");
  EXPECT_TRUE(terminal.shows("without head 0.0: right on unseen cases"));
  terminal.press("kss");
  EXPECT_TRUE(terminal.shows("paused. "));
  // To the first moment; how many there are depends on how fast this machine trains.
  bool first = false;
  for (int i = 0; i < 1000 && !first; ++i) {
    terminal.press("\x1b[D");
    first = terminal.shows("step    0 of 5000", std::chrono::milliseconds(200));
  }
  EXPECT_TRUE(first);
  terminal.press("q");
  while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) terminal.read_some();
  EXPECT_EQ(done.get().code, 0);
  EXPECT_TRUE(terminal.is_in_line_mode());
}

}  // namespace
}  // namespace headlight::testing
