#include "support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "support/sanitizers.h"

namespace headlight::testing {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

[[noreturn]] void become(const std::string& program, const Launch& launch, int out, int err) {
  std::vector<std::string> arguments = launch.arguments, environment = launch.environment;
  arguments.insert(arguments.begin(), program);
  // Leaks and races of libraries that we know of: see tests/CMakeLists.txt.
  for (const std::string name : {"LSAN_OPTIONS", "TSAN_OPTIONS"})
    if (const char* known = std::getenv(name.c_str())) environment.push_back(name + "=" + known);
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (int fd = 3; fd < 64; ++fd) ::close(fd);
  // What a shell in the background ignores, its children ignore too: tests must not depend on how they were started.
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) (void)std::signal(signal, SIG_DFL);
  if (launch.in_child) launch.in_child();
  ::execve(program.c_str(), pointers(arguments).data(), pointers(environment).data());
  ::_exit(127);
}

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    read_end = ends[0];
    write_end = ends[1];
  }
};

// Appends what there is; false at the end of the stream.
bool drain(int fd, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace

Finished run_process(const std::string& program, const Launch& launch) {
  Pipe out, err;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) become(program, launch, out.write_end, err.write_end);
  ::close(out.write_end);
  ::close(err.write_end);
  Finished finished;
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::seconds(kSanitized ? 4 * launch.seconds : launch.seconds);
  bool late = false;
  std::array<pollfd, 2> streams = {{{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (::poll(streams.data(), 2, 100) > 0) {
      if (streams[0].revents != 0 && !drain(out.read_end, finished.out)) streams[0].fd = -1;
      if (streams[1].revents != 0 && !drain(err.read_end, finished.err)) streams[1].fd = -1;
    }
    if (!late && std::chrono::steady_clock::now() > deadline) {
      late = true;
      ::kill(child, SIGKILL);
    }
  }
  ::close(out.read_end);
  ::close(err.read_end);
  int status = 0;
  ::waitpid(child, &status, 0);
  finished.code = late ? -1000 : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return finished;
}

}  // namespace headlight::testing
