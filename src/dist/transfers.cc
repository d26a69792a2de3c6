// Sends and receives that progress while this process computes. MPI moves a large message only inside calls of MPI, so a
// thread makes such calls from time to time; it sleeps in between and uses almost no processor time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/concat.h"
#include "dist/group.h"

namespace headlight::dist {
namespace {

using Clock = std::chrono::steady_clock;

// MPI counts elements of a message in an int.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

}  // namespace

struct Transfers::State {
  struct One {
    MPI_Request request;
    int peer;
    bool receives;
    Clock::time_point due = {};  // an emulated link is not done before
  };

  Group::State& group;
  std::vector<One> open = {};
  std::thread thread = {};
  std::atomic<bool> stop = false;
  int error = MPI_SUCCESS;

  // Completes finished transfers; true if there were any.
  bool test() {
    bool moved = false;
    for (One& one : open) {
      if (one.request == MPI_REQUEST_NULL) continue;
      int done = 0;
      const int status = MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
      if (status != MPI_SUCCESS) error = status;
      moved = moved || done != 0;
    }
    const auto now = group.bandwidth > 0 ? Clock::now() : Clock::time_point::max();
    std::erase_if(open, [&](const One& one) { return one.request == MPI_REQUEST_NULL && one.due <= now; });
    return moved;
  }

  // The arrival time of a message over the emulated link, which carries one message after the other.
  [[nodiscard]] Clock::time_point due(std::size_t bytes) const {
    if (group.bandwidth <= 0) return {};
    const auto seconds = [](double s) {
      return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
    };
    group.link_free =
        std::max(group.link_free, Clock::now()) + seconds(static_cast<double>(bytes) / group.bandwidth);
    return group.link_free + seconds(group.latency);
  }

  void join() {
    if (!thread.joinable()) return;
    stop = true;
    thread.join();
    stop = false;
  }

  [[noreturn]] void refuse_wait() const {
    const One& one = open.front();
    throw RankError(
        ErrorKind::peer, "dist.timeout",
        concat(rank_prefix(group.rank, group.size), "nothing ",
               one.receives ? "arrived from" : "was taken by", " rank ", one.peer, " for ", group.timeout,
               " s; it is lost, or not making the same call (raise GroupOptions::timeout if it computes "
               "longer)"),
        group.rank, false);
  }
};

Transfers::Transfers(Group& group) : state_(new State{.group = group.state()}) {}

Transfers::~Transfers() {
  state_->join();
  for (State::One& one : state_->open) {
    if (one.request == MPI_REQUEST_NULL) continue;
    if (one.receives) MPI_Cancel(&one.request);
    MPI_Request_free(&one.request);
  }
}

void Transfers::send(int to, std::span<const std::byte> bytes, int tag) {
  state_->join();
  for (std::size_t at = 0; at < bytes.size(); at += kMostBytes) {
    State::One one{MPI_REQUEST_NULL, to, false};
    const auto count = static_cast<int>(std::min(kMostBytes, bytes.size() - at));
    check_mpi(state_->group,
              MPI_Isend(bytes.data() + at, count, MPI_BYTE, to, tag, state_->group.comm, &one.request),
              "MPI_Isend");
    state_->open.push_back(one);
  }
}

void Transfers::receive(int from, std::span<std::byte> bytes, int tag) {
  state_->join();
  for (std::size_t at = 0; at < bytes.size(); at += kMostBytes) {
    State::One one{MPI_REQUEST_NULL, from, true, state_->due(std::min(kMostBytes, bytes.size() - at))};
    const auto count = static_cast<int>(std::min(kMostBytes, bytes.size() - at));
    check_mpi(state_->group,
              MPI_Irecv(bytes.data() + at, count, MPI_BYTE, from, tag, state_->group.comm, &one.request),
              "MPI_Irecv");
    state_->open.push_back(one);
  }
}

void Transfers::run_in_background() {
  if (!state_->group.background || state_->open.empty() || state_->thread.joinable()) return;
  state_->thread = std::thread([state = state_.get()] {
    while (!state->stop && !state->open.empty() && state->error == MPI_SUCCESS) {
      if (!state->test()) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
}

void Transfers::wait() {
  state_->join();
  auto moved = Clock::now();
  for (int idle = 0; !state_->open.empty(); ++idle) {
    check_mpi(state_->group, state_->error, "a transfer");
    if (state_->test()) {
      moved = Clock::now();
      idle = 0;
      continue;
    }
    if (std::chrono::duration<double>(Clock::now() - moved).count() > state_->group.timeout)
      state_->refuse_wait();
    // The peer may need this core. After a second without progress it is not about to answer, so sleep.
    if (idle < 100) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(idle < 10'000 ? 50 : 1000));
  }
  check_mpi(state_->group, state_->error, "a transfer");
}

}  // namespace headlight::dist
