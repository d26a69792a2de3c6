#include "cli/stop_signal.h"

#include <unistd.h>

#include <csignal>

#include "cli/interrupt.h"
#include "io/outputs.h"

namespace headlight::cli {
namespace {

std::atomic<int> g_stop{0};

extern "C" void note_signal(int signal) {
  if (g_stop.exchange(signal) == 0) return;
  io::remove_temporaries();
  ::_exit(128 + signal);
}

}  // namespace

std::atomic<int>& catch_stop_signals() noexcept {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, note_signal) == SIG_IGN) (void)std::signal(signal, SIG_IGN);  // nohup
  }
  return g_stop;
}

void release_interrupt() noexcept {
  if (std::signal(SIGINT, SIG_DFL) == SIG_IGN) (void)std::signal(SIGINT, SIG_IGN);
  g_stop = 0;
}

}  // namespace headlight::cli
